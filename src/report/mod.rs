//! stub
pub fn page(_: &crate::experiment::Report, _: Option<&crate::experiment::RunRecord>) -> String {
    String::new()
}
