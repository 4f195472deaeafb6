//! Connect to a Sheaf server, write rows and search them: Arrow for rows, JSON for questions.
use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Int64Type};
use arrow_array::{FixedSizeListArray, Int64Array, RecordBatch, StringArray};
use arrow_ipc::{reader::FileReader, writer::StreamWriter};
use serde_json::json;
use std::{env, error::Error, io::Cursor, sync::Arc};

const STREAM: &str = "application/vnd.apache.arrow.stream";

/// Post a body and give the reply; a status that is not 2xx is an error with the server's words.
fn call(path: &str, content_type: &str, body: &[u8]) -> Result<Vec<u8>, Box<dyn Error>> {
    let url = format!("{}/v1/table/rust_docs{path}", env::var("SHEAF_URL")?);
    let mut response = ureq::post(&url)
        .config()
        .http_status_as_error(false)
        .build()
        .header("content-type", content_type)
        .send(body)?;
    let reply = response.body_mut().with_config().limit(1 << 30).read_to_vec()?;
    if !response.status().is_success() {
        return Err(String::from_utf8_lossy(&reply).into());
    }
    Ok(reply)
}

fn main() -> Result<(), Box<dyn Error>> {
    let vectors = [[1.0, 0.0], [0.0, 1.0], [0.9, 0.1]].map(|each| Some(each.map(Some)));
    let rows = RecordBatch::try_from_iter([
        ("id", Arc::new(Int64Array::from(vec![1, 2, 3])) as _),
        ("title", Arc::new(StringArray::from(vec!["red", "green", "blue"])) as _),
        ("vector", Arc::new(FixedSizeListArray::from_iter_primitive::<Float32Type, _, _>(vectors, 2)) as _),
    ])?;
    let mut writer = StreamWriter::try_new(Vec::new(), &rows.schema())?;
    writer.write(&rows)?;
    call("/create?mode=overwrite", STREAM, &writer.into_inner()?)?;

    let query = json!({ "vector": [1.0, 0.0], "k": 2, "columns": ["id", "title"], "filter": "id < 10" });
    let reply = call("/query", "application/json", query.to_string().as_bytes())?;
    for batch in FileReader::try_new(Cursor::new(reply), None)? {
        let batch = batch?;
        let ids = batch.column_by_name("id").ok_or("no id")?.as_primitive::<Int64Type>();
        let titles = batch.column_by_name("title").ok_or("no title")?.as_string::<i32>();
        for (id, title) in ids.values().iter().zip(titles) {
            println!("{id} {}", title.unwrap_or("null"));
        }
    }
    Ok(())
}
