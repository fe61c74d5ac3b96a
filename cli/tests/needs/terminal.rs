//! Output as a person at a terminal sees it, and keys and signals that reach a program there.

use std::io::{Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::bench::{Bench, SMALL};

/// Returns whether util-linux's `script` is there to provide a terminal, and the `env` of coreutils to start it.
pub fn lent() -> Result<(), String> {
    let found = script().arg("--version").output();
    let lends = found.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains("util-linux"));
    if lends { Ok(()) } else { Err("no `script` of util-linux, or no `env --default-signal`".into()) }
}

/// Returns the command `script`, which ignores no signal of a terminal. What a shell starts in the background ignores
/// some, and so would all that it starts.
fn script() -> Command {
    let mut script = Command::new("env");
    script.args(["--default-signal=INT,QUIT,HUP", "script"]);
    script
}

/// Longest time that something on a terminal may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// `burn-rank` on a terminal.
struct Terminal {
    script: Child,
    keys: ChildStdin,
    screen: Arc<Mutex<Vec<u8>>>,
}

impl Terminal {
    /// Starts `burn-rank` with these arguments of a shell, in the folder of `bench`, and `then` more of the shell.
    fn start(bench: &Bench, columns: usize, arguments: &str, then: &str, variables: &[(&str, &str)]) -> Self {
        let program = assert_cmd::cargo::cargo_bin("burn-rank");
        let line = format!(
            "trap : INT; stty rows 24 cols {columns}; sh -c 'echo $$ > pid; exec \"{}\" {arguments}'; code=$?; {then}; exit $code",
            program.display()
        );
        let mut script = script();
        script.current_dir(bench.path("")).args(["-qec", &line, "/dev/null"]).env("TERM", "xterm");
        script.env("SHELL", "/bin/sh").env_remove("NO_COLOR").env_remove("BURN_DEVICE").envs(variables.iter().copied());
        let mut script = script.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (keys, mut output) = (script.stdin.take().unwrap(), script.stdout.take().unwrap());
        let screen = Arc::new(Mutex::new(Vec::new()));
        let seen = screen.clone();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = output.read(&mut bytes) {
                seen.lock().unwrap().extend_from_slice(&bytes[..count]);
            }
        });
        Self { script, keys, screen }
    }

    /// What was written to the terminal so far.
    fn screen(&self) -> String {
        String::from_utf8_lossy(&self.screen.lock().unwrap()).into_owned()
    }

    fn wait_for(&self, text: &str) {
        let begun = Instant::now();
        while !self.screen().contains(text) {
            assert!(begun.elapsed() < PATIENCE, "{text:?} does not come:\n{}", self.screen());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn press(&mut self, keys: &str) {
        // The program may have ended meanwhile.
        let _ = self.keys.write_all(keys.as_bytes()).and_then(|()| self.keys.flush());
    }

    /// Presses Ctrl-C until the program ends, since a busy machine may take two as one.
    fn stop(mut self) -> (Option<i32>, String) {
        let begun = Instant::now();
        while self.script.try_wait().unwrap().is_none() && begun.elapsed() < PATIENCE {
            self.press("\u{3}");
            std::thread::sleep(Duration::from_millis(500));
        }
        self.end()
    }

    /// The exit code, and everything that was written to the terminal.
    fn end(mut self) -> (Option<i32>, String) {
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = self.script.try_wait().unwrap() {
                break status;
            }
            assert!(begun.elapsed() < PATIENCE, "it does not end:\n{}", self.screen());
            std::thread::sleep(Duration::from_millis(20));
        };
        std::thread::sleep(Duration::from_millis(50));
        (status.code(), self.screen())
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.script.kill();
        let _ = self.script.wait();
    }
}

/// What a terminal of so many columns gets from `burn-rank` with these arguments.
fn screen_of(columns: usize, arguments: &str, variables: &[(&str, &str)]) -> String {
    let bench = Bench::default();
    bench.write("small.toml", SMALL);
    let (code, screen) = Terminal::start(&bench, columns, arguments, ":", variables).end();
    assert_eq!(code, Some(0), "{screen}");
    screen
}

fn screen(arguments: &str, variables: &[(&str, &str)]) -> String {
    screen_of(80, arguments, variables)
}

/// A fit that ends when it is stopped.
const ENDLESS: &str = "train small.toml --out run --set learner.epochs=100000000 --set learner.patience=100000000";

/// Whether text chooses a color: SGR 30 to 49 or 90 to 107 other than the defaults 39 and 49.
fn has_color(screen: &str) -> bool {
    screen.split("\u{1b}[").skip(1).any(|rest| {
        let Some((codes, _)) =
            rest.split_once('m').filter(|(codes, _)| codes.chars().all(|c| ";0123456789".contains(c)))
        else {
            return false;
        };
        let chosen = |code: &str| code.parse().is_ok_and(|n| matches!(n, 30..=38 | 40..=48 | 90..=107));
        codes.split(';').any(chosen)
    })
}

pub fn without_color_nothing_is_colored() {
    assert!(!has_color(&screen("train small.toml", &[("NO_COLOR", "1")])));
}

/// The lines that were written, also those that others were drawn over.
fn drawn(screen: &str) -> Vec<&str> {
    let codes = ["\u{1b}[2K", "\u{1b}[1A", "\u{1b}[1B"];
    let lines = screen.split(['\r', '\n']).flat_map(|line| {
        codes.iter().fold(vec![line], |parts, code| parts.into_iter().flat_map(|part| part.split(code)).collect())
    });
    lines.map(str::trim_end).collect()
}

pub fn progress_scrolls_back_with_measure_surrogate_rate_and_time_left_in_80_columns_and_fewer() {
    let cv =
        "cv small.toml --set cv.split=3 --set data.synthetic.validation_queries=0 --set data.synthetic.test_queries=0";
    for (columns, arguments, told) in [
        (80, "train small.toml", &["/3  ", "ndcg@10 0.", "surrogate 0.", " left", "/s"][..]),
        (80, cv, &["/3  ", "ndcg@10 0.", "surrogate 0.", " left"]),
        (40, "train small.toml", &["/3  ", "ndcg@10 0."]),
        (40, cv, &["/3  ", "ndcg@10 0."]),
    ] {
        let screen = screen_of(columns, arguments, &[]);
        let lines: Vec<&str> = drawn(&screen).into_iter().filter(|line| line.contains("ndcg@10 0.")).collect();
        let wide = lines.iter().find(|line| line.chars().count() > columns);
        assert!(wide.is_none(), "{arguments} in {columns} columns: {wide:?}");
        assert!(lines.iter().any(|line| told.iter().all(|word| line.contains(word))), "{arguments}:\n{screen}");
        // The first line and the last stay.
        let kept = |start: &str| lines.iter().any(|line| line.starts_with(start));
        assert!(kept("1/3  ") && kept("3/3  "), "{arguments}:\n{screen}");
    }
}

pub fn quiet_is_quiet_on_a_terminal() {
    assert_eq!(screen("train small.toml --quiet --out run", &[]).trim(), "");
}

fn small() -> Bench {
    let bench = Bench::default();
    bench.write("small.toml", SMALL);
    bench
}

/// Asserts that a run was stopped after its round: the ranker is there, and the run goes on from its state.
fn assert_resumes(bench: &Bench) {
    assert!(bench.path("run/ranker.safetensors").exists() && bench.path("run/state.json").exists());
    bench.done("predict run d.txt --out scores.txt");
}

/// Starts an endless run on a terminal, and returns it in the middle of its rounds.
fn endless() -> (Bench, Terminal) {
    let bench = small();
    bench.done("synth --queries 3 --features 10 --out d.txt");
    let terminal = Terminal::start(&bench, 80, ENDLESS, ":", &[]);
    terminal.wait_for("1/100000000");
    std::thread::sleep(Duration::from_millis(500));
    (bench, terminal)
}

pub fn ctrl_c_stops_a_run_after_its_round() {
    let (bench, mut terminal) = endless();
    terminal.press("\u{3}");
    let (code, screen) = terminal.end();
    assert_eq!(code, Some(1), "{screen}");
    for told in ["stopping after this round; press Ctrl-C again", " interrupted; the best model so far is saved"] {
        assert!(screen.contains(told), "{told}:\n{screen}");
    }
    assert_resumes(&bench);
}

pub fn ctrl_c_in_a_cross_validation_without_a_folder_says_that_nothing_is_saved() {
    let bench = small();
    let endless = ENDLESS.replace("train small.toml --out run", "cv small.toml --no-out");
    let mut terminal = Terminal::start(&bench, 80, &endless, ":", &[]);
    terminal.wait_for("fold 1, seed 1");
    terminal.press("\u{3}");
    let (code, screen) = terminal.end();
    assert_eq!(code, Some(1), "{screen}");
    let words = screen.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("done; with --no-out, nothing is saved"), "{screen}");
}

fn signal(name: &str, pid: &str) {
    assert!(Command::new("kill").args([name, pid]).status().unwrap().success());
}

pub fn sigterm_stops_a_run_after_its_round() {
    let (bench, terminal) = endless();
    signal("-TERM", bench.text("pid").trim());
    let (code, screen) = terminal.end();
    assert_eq!(code, Some(1), "{screen}");
    assert_resumes(&bench);
}

pub fn a_terminal_that_hangs_up_stops_a_run_after_its_round() {
    let (bench, terminal) = endless();
    let pid = bench.text("pid");
    // The terminal is gone with the program that lends it.
    drop(terminal);
    let begun = Instant::now();
    while Command::new("kill").args(["-0", pid.trim()]).stderr(Stdio::null()).status().unwrap().success() {
        assert!(begun.elapsed() < PATIENCE, "the run goes on");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_resumes(&bench);
}

/// A sequence that sets the title of a terminal, one that clears it, a control character of one byte in Latin-1, and a
/// character that turns the direction of writing.
const HOSTILE: &str = "\u{1b}]0;pwn\u{7}x\u{1b}[2J\u{9b}31m\u{202e}";

/// Asserts that nothing acts on a terminal but line breaks and what draws progress: erased lines and moves to others.
fn assert_harmless(screen: &str, of: &str) {
    let mut plain = screen.replace("\u{1b}[2K", "").replace("\u{1b}[?25h", "");
    for lines in 1..5 {
        plain = plain.replace(&format!("\u{1b}[{lines}A"), "").replace(&format!("\u{1b}[{lines}B"), "");
    }
    let acts = |c: &char| (c.is_control() && !"\r\n\t".contains(*c)) || ('\u{202a}'..='\u{202e}').contains(c);
    let found = plain.chars().find(acts);
    assert_eq!(found, None, "{of}: {plain:?}");
}

pub fn terminal_sequences_in_names_are_harmless_on_a_terminal() {
    let bench = small();
    let text = format!("1 qid:{HOSTILE} 1:1 # {HOSTILE}doc\n0 qid:{HOSTILE} 1:2 # b\n");
    let two = format!("{text}1 qid:b 1:1 # c\n0 qid:b 1:2 # d\n");
    bench.write("esc.txt", &text);
    bench.write("two.txt", &two);
    bench.write("again.txt", &format!("{two}{text}"));
    bench.write("s.txt", "1\n2\n1\n2\n");
    bench.write("one.txt", "1\n2\n");
    bench.write("other.txt", "2\n1\n2\n3\n");
    bench.write("q.txt", &format!("{HOSTILE} 0 a 1\nb 0 a 1\n"));
    let run = |tag: &str| format!("{HOSTILE} Q0 a 1 2 {tag}\nb Q0 a 1 2 {tag}\n");
    bench.write("r.txt", &run(HOSTILE));
    bench.write("r2.txt", &run("two"));
    let hostile = "name = \"\\u001b]0;pwn\\u0007x\\u001b[2J\\u202e\\nsecond\"\n";
    bench.write("name.toml", &format!("{hostile}{SMALL}"));
    bench.write("key.toml", &format!("\"\\u001b[2Jkey\\n\" = 1\n{SMALL}"));
    bench.write("value.toml", &SMALL.replace("\"approx_ndcg\"", "\"\\u001b[2Japprox_ndcg\""));
    let file = format!("{HOSTILE}\nfile.txt");
    bench.write(&file, &two);
    for (arguments, told) in [
        ("eval --scores one.txt esc.txt -q", "]0;pwn"),
        ("eval --scores one.txt esc.txt -q --format trec", "]0;pwn"),
        ("eval --scores one.txt esc.txt --json -q", "]0;pwn"),
        ("eval --scores one.txt esc.txt --queries worst:1", "doc"),
        ("compare s.txt other.txt two.txt -q", "]0;pwn"),
        ("compare r.txt r2.txt --qrels q.txt -q", "]0;pwn"),
        ("eval --scores s.txt again.txt", "again"),
        ("eval --qrels q.txt --run r.txt", "run"),
        ("eval --qrels q.txt --run r.txt --format trec -q", "runid"),
        ("train name.toml --out named", "second"),
        ("train key.toml --out keyed", "key"),
        ("train value.toml --out valued", "approx_ndcg"),
        ("eval --scores s.txt two.txt -m \"$HOSTILE\"", "]0;pwn"),
        ("eval --scores s.txt two.txt -c \"$HOSTILE\"", "]0;pwn"),
        ("eval --scores s.txt \"$HOSTILE_FILE\" -q", "]0;pwn"),
        ("eval --scores s.txt \"$HOSTILE\"", "]0;pwn"),
        ("train small.toml --set \"$HOSTILE=1\" --out set", "]0;pwn"),
        ("\"$HOSTILE\"", "]0;pwn"),
        ("train small.toml \"--$HOSTILE\"", "]0;pwn"),
        ("synth --queries \"$HOSTILE\"", "]0;pwn"),
        ("man \"$HOSTILE\"", "]0;pwn"),
        ("models show named", "second"),
        ("models show \"$HOSTILE\"", "]0;pwn"),
    ] {
        let variables = [("HOSTILE", HOSTILE), ("HOSTILE_FILE", &*file)];
        let (_, screen) = Terminal::start(&bench, 80, arguments, ":", &variables).end();
        assert!(screen.contains(told), "{arguments}: {screen:?}");
        assert_harmless(&without_color(&screen), arguments);
    }
}

/// A screen without the colors of clap's messages.
fn without_color(screen: &str) -> String {
    let mut parts = screen.split("\u{1b}[");
    let mut plain = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let end = part.find(|c: char| !";0123456789".contains(c)).unwrap_or(part.len());
        match part[end..].strip_prefix('m') {
            Some(rest) => plain.push_str(rest),
            None => plain.push_str(&format!("\u{1b}[{part}")),
        }
    }
    plain
}

pub fn what_takes_long_says_on_a_terminal_what_goes_on() {
    let bench = small();
    bench.done("synth --queries 300 --features 10 --out d.txt");
    let lines = bench.text("d.txt").lines().count();
    let scores = |seed: usize| (0..lines).map(|line| format!("{}\n", line * seed % 1009)).collect::<String>();
    bench.write("a.txt", &scores(7));
    bench.write("b.txt", &scores(11));
    assert!(Command::new("mkfifo").arg(bench.path("pipe")).status().unwrap().success());
    let trees =
        "normalizer = 'quantile'\ndata.train = ['pipe']\nloss.name = 'lambda_ndcg'\nlearner.kind = 'boosted_trees'\n";
    bench.write("trees.toml", trees);
    for (arguments, told) in [
        // More than any machine does before it is stopped.
        ("compare a.txt b.txt d.txt --resamples 50000000", " left"),
        ("synth --queries 100000000 --out long.txt", " left"),
        ("bench --repeats 1000000 --shapes 64x128,16x256", "flex"),
        ("bench trees --repeats 1000000", "growing trees on flex"),
        ("clicks --scores a.txt d.txt --sessions 300 --out c.txt", "writing c.txt"),
        // Nobody writes into the pipe.
        ("eval --scores a.txt pipe", "reading pipe"),
        ("train trees.toml --out run", "reading the data"),
    ] {
        let terminal = Terminal::start(&bench, 80, arguments, ":", &[]);
        terminal.wait_for(told);
        let (code, screen) = terminal.stop();
        assert!(code != Some(0) && drawn(&screen).iter().all(|line| line.chars().count() <= 80), "{screen}");
    }
}

pub fn without_a_terminal_on_standard_error_nothing_is_drawn() {
    let bench = small();
    let arguments = "train small.toml --out run --set learner.epochs=30 2> errors";
    let (code, screen) = Terminal::start(&bench, 80, arguments, ":", &[]).end();
    assert_eq!((code, bench.text("errors")), (Some(0), "writing to run\n".into()));
    assert!(!screen.contains('\u{1b}') && screen.contains("ndcg@10"), "{screen}");
}
