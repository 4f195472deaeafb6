import java.io.ByteArrayOutputStream;
import java.util.*;
import java.util.stream.*;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.*;
import org.apache.arrow.vector.complex.FixedSizeListVector;
import org.apache.arrow.vector.ipc.ArrowFileReader;
import org.apache.arrow.vector.ipc.ArrowStreamWriter;
import org.apache.arrow.vector.types.FloatingPointPrecision;
import org.apache.arrow.vector.types.pojo.*;
import org.apache.arrow.vector.util.ByteArrayReadableSeekableByteChannel;
import org.apache.arrow.vector.util.Text;
import org.lance.namespace.client.apache.*;
import org.lance.namespace.client.apache.api.*;
import org.lance.namespace.model.*;

/**
 * Calls the server by the generated Java client, which sends `[]`, `{}` and null for what a program does not set, and compares each answer
 * with the one that the specification gives.
 */
public class Steps {
  interface Call {
    Object run() throws Exception;
  }

  static void same(String step, Object expected, Call call) {
    Object answer;
    try {
      answer = call.run();
    } catch (ApiException error) {
      answer = error.getCode();
    } catch (Exception error) {
      answer = error;
    }
    boolean equal = Objects.equals(String.valueOf(expected), String.valueOf(answer));
    System.out.println(equal ? "same " + step : "differs " + step + ": " + answer + " instead of " + expected);
  }

  static final RootAllocator memory = new RootAllocator();
  static final Field item = Field.nullable("item", new ArrowType.FloatingPoint(FloatingPointPrecision.SINGLE));
  static final Schema schema = new Schema(List.of(
      Field.nullable("id", new ArrowType.Int(64, true)),
      Field.nullable("title", new ArrowType.Utf8()),
      new Field("vector", FieldType.nullable(new ArrowType.FixedSizeList(2)), List.of(item))));

  /** Rows with the ids `from` to `to - 1`, whose vectors are (id, 1). */
  static byte[] rows(int from, int to, String title) throws Exception {
    try (var rows = VectorSchemaRoot.create(schema, memory)) {
      var vectors = (FixedSizeListVector) rows.getVector("vector");
      for (int id = from; id < to; id++) {
        int row = id - from;
        ((BigIntVector) rows.getVector("id")).setSafe(row, id);
        ((VarCharVector) rows.getVector("title")).setSafe(row, new Text(title + " " + id));
        vectors.setNotNull(row);
        ((Float4Vector) vectors.getDataVector()).setSafe(2 * row, id);
        ((Float4Vector) vectors.getDataVector()).setSafe(2 * row + 1, 1);
      }
      rows.setRowCount(to - from);
      var body = new ByteArrayOutputStream();
      try (var writer = new ArrowStreamWriter(rows, null, body)) {
        writer.writeBatch();
      }
      return body.toByteArray();
    }
  }

  /** A column of an answer. */
  static List<Object> column(byte[] reply, String name) throws Exception {
    var values = new ArrayList<>();
    try (var file = new ArrowFileReader(new ByteArrayReadableSeekableByteChannel(reply), memory)) {
      var found = file.getVectorSchemaRoot();
      while (file.loadNextBatch())
        for (int row = 0; row < found.getRowCount(); row++) values.add(found.getVector(name).getObject(row));
    }
    return values;
  }

  static List<String> names(JsonArrowSchema schema) {
    return schema.getFields().stream().map(JsonArrowField::getName).toList();
  }

  static <T> List<T> sorted(Collection<T> all) {
    return all.stream().sorted().toList();
  }

  public static void main(String[] args) throws Exception {
    var client = new ApiClient().setBasePath(System.getenv("SHEAF_URL"));
    var namespaces = new NamespaceApi(client);
    var tables = new TableApi(client);
    var transactions = new TransactionApi(client);

    // ---- namespaces
    same("create a namespace", "{team=search}", () -> namespaces.createNamespace("prod",
        new CreateNamespaceRequest().properties(Map.of("team", "search")), null).getProperties());
    same("create it again", 409, () -> namespaces.createNamespace("prod", new CreateNamespaceRequest(), null));
    same("create it where it is missing", "{team=search}", () -> namespaces.createNamespace("prod",
        new CreateNamespaceRequest().mode("ExistOk"), null).getProperties());
    same("create one inside", "{}", () -> Objects.requireNonNullElse(
        namespaces.createNamespace("prod$eu", new CreateNamespaceRequest(), null).getProperties(), Map.of()));
    same("describe a namespace", "{team=search}", () -> namespaces.describeNamespace("prod", new DescribeNamespaceRequest(), null).getProperties());
    same("list the root", "[prod]", () -> sorted(namespaces.listNamespaces("$", null, null, null).getNamespaces()));
    same("list a namespace", "[eu]", () -> sorted(namespaces.listNamespaces("prod", null, null, null).getNamespaces()));
    same("a namespace exists", "ok", () -> {
      namespaces.namespaceExists("prod$eu", new NamespaceExistsRequest(), null);
      return "ok";
    });
    same("a namespace that does not exist", 404, () -> {
      namespaces.namespaceExists("other", new NamespaceExistsRequest(), null);
      return "ok";
    });

    // ---- tables and rows
    String t = "prod$eu$docs";
    same("create a table", 1, () -> tables.createTable(t, rows(0, 10, "red"), null, "create", null, null).getVersion());
    same("create a table again", 409, () -> tables.createTable(t, rows(0, 1, "red"), null, "create", null, null));
    same("insert", "ok", () -> tables.insertIntoTable(t, rows(10, 20, "green"), null, "append") == null ? "nothing" : "ok");
    same("count", 20, () -> tables.countTableRows(t, new CountTableRowsRequest(), null));
    same("count by a filter", 5, () -> tables.countTableRows(t, new CountTableRowsRequest().predicate("id >= 15"), null));
    same("count an old version", 10, () -> tables.countTableRows(t, new CountTableRowsRequest().version(1L), null));
    same("describe: columns", "[id, title, vector]", () -> names(tables.describeTable(t, new DescribeTableRequest(), null, null, null, null).getSchema()));
    same("describe: version", 2, () -> tables.describeTable(t, new DescribeTableRequest(), null, null, null, null).getVersion());
    same("describe: a version", 1, () -> tables.describeTable(t, new DescribeTableRequest().version(1L), null, null, null, null).getVersion());
    same("list the tables", "[docs]", () -> sorted(tables.listTables("prod$eu", null, null, null, null).getTables()));
    same("list all tables", "[prod$eu$docs]", () -> sorted(tables.listAllTables(null, null, null, null).getTables()));
    same("a table exists", "ok", () -> {
      tables.tableExists(t, new TableExistsRequest(), null);
      return "ok";
    });
    same("a table that does not exist", 404, () -> tables.countTableRows("prod$eu$other", new CountTableRowsRequest(), null));

    // ---- queries
    var near = new QueryTableRequestVector().singleVector(List.of(3f, 1f));
    same("nearest rows", "[3, 2]", () -> column(tables.queryTable(t, new QueryTableRequest().vector(near).k(3)
        .columns(new QueryTableRequestColumns().columnNames(List.of("id"))), null), "id").stream().filter(id -> (long) id < 4).toList());
    same("distances", "[0.0]", () -> column(tables.queryTable(t, new QueryTableRequest().vector(near).k(1), null), "_distance"));
    same("nearest rows that pass", "[7, 8]", () -> column(tables.queryTable(t, new QueryTableRequest().vector(near).k(2).filter("id > 6").prefilter(true), null), "id"));
    var lists = List.of(List.of(3f, 1f), List.of(9f, 1f));
    same("two vectors at once", "[3, 9]", () -> column(tables.queryTable(t,
        new QueryTableRequest().vector(new QueryTableRequestVector().multiVector(lists)).k(1), null), "id"));
    same("rows by a filter", "[0, 1]", () -> column(tables.queryTable(t,
        new QueryTableRequest().vector(new QueryTableRequestVector()).filter("id < 2").k(10), null), "id"));
    same("rows of a page", "[5, 6]", () -> column(tables.queryTable(t,
        new QueryTableRequest().vector(new QueryTableRequestVector()).offset(5).k(2), null), "id"));
    same("renamed columns", "[4]", () -> column(tables.queryTable(t, new QueryTableRequest().vector(new QueryTableRequestVector())
        .columns(new QueryTableRequestColumns().columnAliases(Map.of("twice", "id * 2"))).filter("id = 2").k(1), null), "twice"));
    same("words", "[12]", () -> column(tables.queryTable(t, new QueryTableRequest().vector(new QueryTableRequestVector()).k(1).fullTextQuery(
        new QueryTableRequestFullTextQuery().stringQuery(new StringFtsQuery().query("12").columns(List.of("title")))), null), "id"));
    same("rows of a version", 10, () -> column(tables.queryTable(t,
        new QueryTableRequest().vector(new QueryTableRequestVector()).version(1L).k(100), null), "id").size());
    same("an unknown column", 404, () -> tables.queryTable(t, new QueryTableRequest().vector(new QueryTableRequestVector()).filter("nothing = 1").k(1), null));
    same("a plan", true, () -> tables.explainTableQueryPlan(t, new ExplainTableQueryPlanRequest().query(new QueryTableRequest().vector(near).k(1)), null).length() > 10);
    same("an analyzed plan", true, () -> tables.analyzeTableQueryPlan(t, new AnalyzeTableQueryPlanRequest().vector(near).k(1), null).length() > 10);

    // ---- changes of rows
    same("update", 1, () -> tables.updateTable(t, new UpdateTableRequest().predicate("id = 3").updates(List.of(List.of("title", "'changed'"))), null).getUpdatedRows());
    same("delete", 19, () -> {
      tables.deleteFromTable(t, new DeleteFromTableRequest().predicate("id = 4"), null);
      return tables.countTableRows(t, new CountTableRowsRequest(), null);
    });
    same("merge", "[1, 2]", () -> {
      var merged = tables.mergeInsertIntoTable(t, "id", rows(19, 22, "blue"), null, true, null, true, null, null, null, null);
      return List.of(merged.getNumUpdatedRows(), merged.getNumInsertedRows());
    });
    same("restore", 10, () -> {
      tables.restoreTable(t, new RestoreTableRequest().version(1L), null);
      return tables.countTableRows(t, new CountTableRowsRequest(), null);
    });
    same("versions", 6, () -> tables.listTableVersions(t, null, null, null, null).getVersions().size());

    // ---- columns
    same("add a column", "[id, title, vector, twice]", () -> {
      tables.alterTableAddColumns(t, new AlterTableAddColumnsRequest().newColumns(List.of(new AddColumnsEntry().name("twice").expression("id * 2"))), null);
      return names(tables.describeTable(t, new DescribeTableRequest(), null, null, null, null).getSchema());
    });
    same("rename a column", "[id, title, vector, double]", () -> {
      tables.alterTableAlterColumns(t, new AlterTableAlterColumnsRequest().alterations(List.of(new AlterColumnsEntry().path("twice").rename("double"))), null);
      return names(tables.describeTable(t, new DescribeTableRequest(), null, null, null, null).getSchema());
    });
    same("drop a column", "[id, title, vector]", () -> {
      tables.alterTableDropColumns(t, new AlterTableDropColumnsRequest().columns(List.of("double")), null);
      return names(tables.describeTable(t, new DescribeTableRequest(), null, null, null, null).getSchema());
    });
    same("metadata of a schema", "{a=b}", () -> tables.updateTableSchemaMetadata(t, Map.of("a", "b"), null));

    // ---- tags
    same("create a tag", 1, () -> {
      tables.createTableTag(t, new CreateTableTagRequest().tag("first").version(1L), null);
      return tables.getTableTagVersion(t, new GetTableTagVersionRequest().tag("first"), null).getVersion();
    });
    same("move a tag", 2, () -> {
      tables.updateTableTag(t, new UpdateTableTagRequest().tag("first").version(2L), null);
      return tables.getTableTagVersion(t, new GetTableTagVersionRequest().tag("first"), null).getVersion();
    });
    same("list the tags", "[first]", () -> sorted(tables.listTableTags(t, null, null, null).getTags().keySet()));
    same("delete a tag", "[]", () -> {
      tables.deleteTableTag(t, new DeleteTableTagRequest().tag("first"), null);
      return sorted(tables.listTableTags(t, null, null, null).getTags().keySet());
    });

    // ---- indexes
    same("index a column", "[id_idx]", () -> {
      tables.createTableScalarIndex(t, new CreateTableIndexRequest().column("id").indexType("BTREE"), null);
      return built(tables, t, 1);
    });
    same("index texts", "[id_idx, title_idx]", () -> {
      tables.createTableIndex(t, new CreateTableIndexRequest().column("title").indexType("FTS").withPosition(true), null);
      return built(tables, t, 2);
    });
    same("an index in numbers", 10, () -> tables.describeTableIndexStats(t, "id_idx", new DescribeTableIndexStatsRequest(), null).getNumIndexedRows());
    same("words by the index", "[7]", () -> column(tables.queryTable(t, new QueryTableRequest().vector(new QueryTableRequestVector()).k(1).fullTextQuery(
        new QueryTableRequestFullTextQuery().stringQuery(new StringFtsQuery().query("7").columns(List.of("title")))), null), "id"));
    same("drop an index", "[id_idx]", () -> {
      tables.dropTableIndex(t, "title_idx", null);
      return built(tables, t, 1);
    });
    same("the table in numbers", 10, () -> tables.getTableStats(t, new GetTableStatsRequest(), null).getNumRows());

    // ---- names
    same("rename a table: the namespace stays", "[books]", () -> {
      tables.renameTable(t, new RenameTableRequest().newTableName("books"), null);
      return sorted(tables.listTables("prod$eu", null, null, null, null).getTables());
    });
    same("move a table", "[books]", () -> {
      tables.renameTable("prod$eu$books", new RenameTableRequest().newTableName("books").newNamespaceId(List.of("prod")), null);
      return sorted(tables.listTables("prod", null, null, null, null).getTables());
    });
    same("declare a table", true, () -> tables.declareTable("prod$lance", new DeclareTableRequest(), null).getLocation().length() > 0);
    same("a table that is only declared", true, () -> tables.describeTable("prod$lance", new DescribeTableRequest(), null, null, null, true).getIsOnlyDeclared());
    same("deregister a table", "[books]", () -> {
      tables.deregisterTable("prod$lance", new DeregisterTableRequest(), null);
      return sorted(tables.listTables("prod", null, null, null, null).getTables());
    });
    same("two tables in one commit", "[a, b, books]", () -> {
      var declare = Stream.of("a", "b").map(name -> new CommitTableOperation().declareTable(new DeclareTableRequest().id(List.of("prod", name)))).toList();
      transactions.batchCommitTables(new BatchCommitTablesRequest().operations(declare), null);
      return sorted(tables.listTables("prod", null, null, null, true).getTables());
    });
    same("one of two tables is there already: none is declared", "[a, b, books]", () -> {
      var declare = Stream.of("c", "a").map(name -> new CommitTableOperation().declareTable(new DeclareTableRequest().id(List.of("prod", name)))).toList();
      try {
        transactions.batchCommitTables(new BatchCommitTablesRequest().operations(declare), null);
      } catch (ApiException conflict) {
        return sorted(tables.listTables("prod", null, null, null, true).getTables());
      }
      return "committed";
    });
    same("drop a table", "[a, b]", () -> {
      tables.dropTable("prod$books", null);
      return sorted(tables.listTables("prod", null, null, null, true).getTables());
    });
    same("drop a namespace that is not empty", 409, () -> namespaces.dropNamespace("prod", new DropNamespaceRequest(), null));
    same("drop a namespace and what is in it", "[]", () -> {
      namespaces.dropNamespace("prod", new DropNamespaceRequest().behavior("Cascade"), null);
      return sorted(namespaces.listNamespaces("$", null, null, null).getNamespaces());
    });
    System.exit(0);
  }

  /** The names of the indexes once there are `count` and they are built: within 20 seconds. */
  static List<String> built(TableApi tables, String id, int count) throws Exception {
    for (int tries = 0; ; tries++) {
      var indexes = tables.listTableIndices(id, new ListTableIndicesRequest(), null).getIndexes();
      boolean done = indexes.size() == count && indexes.stream().allMatch(index -> "ready".equals(index.getStatus()));
      if (done || tries == 200) return sorted(indexes.stream().map(IndexContent::getIndexName).toList());
      Thread.sleep(100);
    }
  }
}
