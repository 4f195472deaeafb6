//! Calls the server by the generated Rust client, and compares each answer with the one that the specification gives.

use std::collections::HashMap;
use std::fmt::Debug;
use std::io::Cursor;
use std::sync::Arc;

use arrow_array::types::Float32Type;
use arrow_array::{ArrayRef, FixedSizeListArray, Int64Array, RecordBatch, StringArray};
use arrow_ipc::{reader::FileReader, writer::StreamWriter};
use lance_namespace_reqwest_client::apis::configuration::Configuration;
use lance_namespace_reqwest_client::apis::{Error, namespace_api as namespaces, table_api as tables};
use lance_namespace_reqwest_client::models::*;

/// Says whether a step gave what it should: a value, or the status of a refusal.
fn same<T: Debug, E>(step: &str, expected: &str, answer: Result<T, Error<E>>) {
    let answer = match answer {
        Ok(value) => format!("{value:?}"),
        Err(Error::ResponseError(refused)) => refused.status.as_u16().to_string(),
        Err(error) => error.to_string(),
    };
    if answer == expected {
        println!("same {step}");
    } else {
        println!("differs {step}: {answer} instead of {expected}");
    }
}

/// Rows with the ids `from` to `to - 1`, whose vectors are (id, 1).
fn rows(from: i64, to: i64, title: &str) -> Vec<u8> {
    let vectors = (from..to).map(|id| Some(vec![Some(id as f32), Some(1.0)]));
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("id", Arc::new(Int64Array::from_iter_values(from..to))),
        ("title", Arc::new(StringArray::from_iter_values((from..to).map(|id| format!("{title} {id}"))))),
        ("vector", Arc::new(FixedSizeListArray::from_iter_primitive::<Float32Type, _, _>(vectors, 2))),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let mut bytes = Vec::new();
    let mut writer = StreamWriter::try_new(&mut bytes, &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    bytes
}

fn sorted(mut all: Vec<String>) -> Vec<String> {
    all.sort();
    all
}

type QueryError = Error<tables::QueryTableError>;

/// The ids of an answer.
async fn ids(server: &Configuration, table: &str, request: QueryTableRequest) -> Result<Vec<i64>, QueryError> {
    let reply = tables::query_table(server, table, request, None).await?.bytes().await?;
    let file = FileReader::try_new(Cursor::new(reply.to_vec()), None).unwrap();
    let mut found = Vec::new();
    for batch in file {
        let batch = batch.unwrap();
        let column = batch.column_by_name("id").unwrap().as_any().downcast_ref::<Int64Array>().unwrap();
        found.extend(column.values().iter());
    }
    Ok(found)
}

fn scan(k: i32) -> QueryTableRequest {
    QueryTableRequest::new(k, QueryTableRequestVector::new())
}

fn near(k: i32, vector: Vec<f32>) -> QueryTableRequest {
    let vector = QueryTableRequestVector { single_vector: Some(vector), multi_vector: None };
    QueryTableRequest::new(k, vector)
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let base_path = std::env::var("SHEAF_URL").unwrap();
    let server = &Configuration { base_path, ..Configuration::new() };
    let table = "prod$docs";

    // ---- namespaces
    let properties = Some(HashMap::from([("team".to_string(), "search".to_string())]));
    let create = CreateNamespaceRequest { properties, ..CreateNamespaceRequest::new() };
    let made = namespaces::create_namespace(server, "prod", create.clone(), None).await;
    same("create a namespace", "Some({\"team\": \"search\"})", made.map(|made| made.properties));
    same("create it again", "409", namespaces::create_namespace(server, "prod", create, None).await);
    let listed = namespaces::list_namespaces(server, "$", None, None, None).await;
    same("list the root", "[\"prod\"]", listed.map(|listed| sorted(listed.namespaces)));
    let missing = namespaces::namespace_exists(server, "other", NamespaceExistsRequest::new(), None).await;
    same("a namespace that does not exist", "404", missing);

    // ---- rows
    let made = tables::create_table(server, table, rows(0, 10, "red"), None, Some("create"), None, None).await;
    same("create a table", "Some(1)", made.map(|made| made.version));
    let again = tables::create_table(server, table, rows(0, 1, "red"), None, Some("create"), None, None).await;
    same("create a table again", "409", again);
    let inserted = tables::insert_into_table(server, table, rows(10, 20, "green"), None, None, Some("append")).await;
    same("insert", "()", inserted.map(drop));
    let count = async |predicate: Option<&str>, version| {
        let request = CountTableRowsRequest {
            predicate: predicate.map(str::to_string),
            version,
            ..CountTableRowsRequest::new()
        };
        tables::count_table_rows(server, table, request, None).await
    };
    same("count", "20", count(None, None).await);
    same("count by a filter", "5", count(Some("id >= 15"), None).await);
    same("count an old version", "10", count(None, Some(1)).await);
    let described = tables::describe_table(server, table, DescribeTableRequest::new(), None, None, None, None).await;
    let columns = described.map(|of| of.schema.map(|schema| schema.fields.into_iter().map(|field| field.name).collect::<Vec<_>>()));
    same("describe: columns", "Some([\"id\", \"title\", \"vector\"])", columns);

    // ---- queries
    same("nearest rows", "[3]", ids(server, table, near(1, vec![3.0, 1.0])).await);
    let filtered = QueryTableRequest { filter: Some("id > 6".to_string()), prefilter: Some(true), ..near(2, vec![3.0, 1.0]) };
    same("nearest rows that pass", "[7, 8]", ids(server, table, filtered).await);
    let many = QueryTableRequestVector { single_vector: None, multi_vector: Some(vec![vec![3.0, 1.0], vec![9.0, 1.0]]) };
    same("two vectors at once", "[3, 9]", ids(server, table, QueryTableRequest::new(1, many)).await);
    let probes = QueryTableRequest { minimum_nprobes: Some(1), maximum_nprobes: Some(4), ..near(1, vec![3.0, 1.0]) };
    same("bounds of probes", "[3]", ids(server, table, probes).await);
    let filtered = QueryTableRequest { filter: Some("id < 2".to_string()), ..scan(10) };
    same("rows by a filter", "[0, 1]", ids(server, table, filtered).await);
    same("rows of a page", "[5, 6]", ids(server, table, QueryTableRequest { offset: Some(5), ..scan(2) }).await);
    let words = StringFtsQuery { columns: Some(vec!["title".to_string()]), ..StringFtsQuery::new("12".to_string()) };
    let words = QueryTableRequestFullTextQuery { string_query: Some(Box::new(words)), structured_query: None };
    let words = QueryTableRequest { full_text_query: Some(Box::new(words)), ..scan(1) };
    same("words", "[12]", ids(server, table, words).await);
    let wrong = QueryTableRequest { filter: Some("nothing = 1".to_string()), ..scan(1) };
    same("an unknown column", "404", ids(server, table, wrong).await);

    // ---- changes
    let updates = UpdateTableRequest::new(vec![vec!["title".to_string(), "'changed'".to_string()]]);
    let updates = UpdateTableRequest { predicate: Some("id = 3".to_string()), ..updates };
    same("update", "1", tables::update_table(server, table, updates, None).await.map(|done| done.updated_rows));
    let deleted = tables::delete_from_table(server, table, DeleteFromTableRequest::new("id = 4".to_string()), None).await;
    same("delete", "()", deleted.map(drop));
    same("count what is left", "19", count(None, None).await);
    let merged = tables::merge_insert_into_table(
        server, table, vec!["id".to_string()], rows(19, 22, "blue"), None, None, Some(true), None, Some(true), None, None, None, None,
    )
    .await;
    same("merge", "(Some(1), Some(2))", merged.map(|done| (done.num_updated_rows, done.num_inserted_rows)));
    let added = AddColumnsEntry { expression: Some(Some("id * 2".to_string())), ..AddColumnsEntry::new("twice".to_string()) };
    let added = tables::alter_table_add_columns(server, table, AlterTableAddColumnsRequest::new(vec![added]), None).await;
    same("add a column", "()", added.map(drop));
    same("count by the new column", "1", count(Some("twice = 40"), None).await);
    let dropped = AlterTableDropColumnsRequest::new(vec!["twice".to_string()]);
    same("drop a column", "()", tables::alter_table_drop_columns(server, table, dropped, None).await.map(drop));

    // ---- tags
    let tag = CreateTableTagRequest::new("first".to_string(), 1);
    same("create a tag", "()", tables::create_table_tag(server, table, tag, None).await.map(drop));
    let wanted = GetTableTagVersionRequest::new("first".to_string());
    let tagged = tables::get_table_tag_version(server, table, wanted, None).await;
    same("read a tag", "1", tagged.map(|tagged| tagged.version));
    let tags = tables::list_table_tags(server, table, None, None, None).await;
    same("list the tags", "[\"first\"]", tags.map(|tags| sorted(tags.tags.into_keys().collect())));

    // ---- names
    let rename = RenameTableRequest::new("books".to_string());
    same("rename a table", "()", tables::rename_table(server, table, rename, None).await.map(drop));
    let listed = tables::list_tables(server, "prod", None, None, None, None).await;
    same("the namespace stays", "[\"books\"]", listed.map(|listed| sorted(listed.tables)));
    same("drop a table", "()", tables::drop_table(server, "prod$books", None).await.map(drop));
    let dropped = namespaces::drop_namespace(server, "prod", DropNamespaceRequest::new(), None).await;
    same("drop a namespace", "()", dropped.map(drop));
}
