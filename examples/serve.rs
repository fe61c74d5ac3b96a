//! A server of scores over HTTP: a saved ranker stays in memory, and each request brings one list of documents.
//!
//! ```text
//! cargo run --release --example serve -- runs/first/ranker.safetensors 127.0.0.1:8080
//! curl 127.0.0.1:8080
//! curl --data '[[0.3, 2.0, 14.0], [0.1, 7.5, null]]' 127.0.0.1:8080
//! ```
//!
//! A request without a body gets the names of the features, or their numbers. The body of other requests is a JSON
//! array with the raw features of each document in the order of these names, and `null` for a missing value. The answer
//! is an array of scores in the order of the documents. What cannot be scored gets status 400 and `{"error": ...}`.

use std::error::Error;
use std::io::Read;
use std::path::Path;

use burn::tensor::Device;
use burn_rank::data::RankingDataset;
use burn_rank::ranker::Ranker;
use tiny_http::{Method, Response, Server};

/// Requests that are answered at the same time.
const THREADS: usize = 4;
/// Largest body, in bytes.
const MOST: u64 = 16 << 20;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [ranker, address] = &arguments[..] else { return Err("expected two arguments: RANKER ADDRESS:PORT".into()) };
    let ranker = Ranker::load(Path::new(ranker), &Device::flex())?;
    let server = Server::http(address).map_err(|error| format!("{address}: {error}"))?;
    serve(&server, &ranker);
    Ok(())
}

fn serve(server: &Server, ranker: &Ranker) {
    let answer_requests = || {
        for mut request in server.incoming_requests() {
            let answer = match request.method() {
                Method::Get => Ok(names(ranker)),
                _ => scores(request.as_reader(), ranker),
            };
            let (status, body) = match answer {
                Ok(answer) => (200, answer),
                Err(error) => (400, serde_json::json!({"error": error.to_string()}).to_string()),
            };
            // The client may have gone.
            let _ = request.respond(Response::from_string(body).with_status_code(status));
        }
    };
    std::thread::scope(|scope| (0..THREADS).for_each(|_| drop(scope.spawn(answer_requests))));
}

/// The names of the features in the order in which documents have them.
fn names(ranker: &Ranker) -> String {
    serde_json::json!(ranker.column_names()[..ranker.features()]).to_string()
}

fn scores(body: impl Read, ranker: &Ranker) -> Result<String, Box<dyn Error>> {
    let documents: Vec<Vec<Option<f32>>> = serde_json::from_reader(body.take(MOST))?;
    let expected = ranker.features();
    if let Some(place) = documents.iter().position(|features| features.len() != expected) {
        let found = documents[place].len();
        let order = "in the order that a GET request answers with";
        return Err(format!("document {}: found {found} features, expected {expected}, {order}", place + 1).into());
    }
    let features = documents.iter().flatten().map(|value| value.unwrap_or(f32::NAN)).collect();
    let labels = vec![0.0; documents.len()];
    let list = RankingDataset::builder()
        .features(features, expected)
        .labels(labels)
        .query_sizes(&[documents.len()])
        .build()?;
    Ok(serde_json::to_string(&ranker.predict(&list, &Device::flex())?)?)
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::{SocketAddr, TcpStream};

    use burn_rank::data::{Normalizer, NormalizerKind};
    use burn_rank::ranker::{Metadata, Model};
    use burn_rank::scorer::Scorer;

    use super::*;

    /// A ranker with the score `2 x - y`, without an offset for missing values or with one.
    fn ranker(takes_missing: bool) -> Ranker {
        let train = RankingDataset::builder()
            .features(vec![1.0, 0.0, 3.0, f32::NAN], 2)
            .labels(vec![0.0, 1.0])
            .query_sizes(&[2])
            .build()
            .unwrap();
        let (normalizer, weights) = match takes_missing {
            true => (Normalizer::fit_with_indicators(&train, NormalizerKind::None).unwrap(), &[2.0, -1.0, 10.0][..]),
            false => (Normalizer::fit(&train, NormalizerKind::None), &[2.0, -1.0][..]),
        };
        let model = Model::Scorer(Scorer::linear(weights, 0.0, &Device::flex()));
        let metadata =
            Metadata { feature_names: Some(["clicks", "price"].map(String::from).to_vec()), ..Metadata::default() };
        Ranker::new(normalizer, model, metadata).unwrap()
    }

    /// Status and body of the answer to a request.
    fn post(address: SocketAddr, body: &str) -> (u16, String) {
        answer(address, "POST", body)
    }

    fn answer(address: SocketAddr, method: &str, body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(address).unwrap();
        let length = body.len();
        write!(stream, "{method} / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}")
            .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
        (status, answer.split("\r\n\r\n").nth(1).unwrap().trim().to_string())
    }

    #[test]
    fn lists_are_scored_and_what_cannot_be_is_refused() {
        let server = Server::http("127.0.0.1:0").unwrap();
        let address = server.server_addr().to_ip().unwrap();
        // Not joined: the server ends with the process, and a refused answer fails the test at once.
        std::thread::spawn(move || serve(&server, &ranker(false)));
        assert_eq!(post(address, "[[1.5, 0.5], [0, 4]]"), (200, "[2.5,-4.0]".to_string()));
        assert_eq!(answer(address, "GET", ""), (200, "[\"clicks\",\"price\"]".to_string()));
        for (body, expected) in [
            ("[[1], [2, 3]]", "document 1: found 1 features, expected 2"),
            ("[[1, null]]", "document 1: feature 2 is missing"),
            ("[[1, \"a\"]]", "invalid type"),
            ("[]", "expected at least 1 document"),
            ("nothing", "expected ident"),
        ] {
            let (status, answer) = post(address, body);
            assert!(status == 400 && answer.contains(expected), "{body}: {status} {answer}");
        }
        assert_eq!(scores("[[1, null]]".as_bytes(), &ranker(true)).unwrap(), "[12.0]");
    }
}
