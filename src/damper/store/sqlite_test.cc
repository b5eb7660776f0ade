#include "damper/store/sqlite.h"

#include <gtest/gtest.h>

#include "damper/base/folder_testing.h"

namespace damper::store {
namespace {

TEST(Sqlite, AStatementIsRunAgainWithOtherValues) {
  Database file(":memory:", std::chrono::milliseconds(0));
  file.execute("CREATE TABLE t (a INTEGER, b BLOB)");
  const Statement insert(file, "INSERT INTO t VALUES (?1, ?2)");
  for (const int i : {1, 2}) {
    Statement::Run run(insert);
    EXPECT_FALSE(run.bind(i).bind(std::string_view()).step());
    EXPECT_EQ(file.changes(), 1);
  }
  EXPECT_EQ(file.query_number("SELECT sum(a) FROM t"), 3);
  EXPECT_EQ(file.query_number("SELECT count(*) FROM t WHERE b IS NULL"), 0);  // Empty is not NULL.
}

TEST(Sqlite, ATransactionThatIsNotCommittedNeverWas) {
  Database file(":memory:", std::chrono::milliseconds(0));
  file.execute("CREATE TABLE t (a INTEGER)");
  {
    const Transaction transaction(file);
    file.execute("INSERT INTO t VALUES (1)");
  }
  {
    Transaction transaction(file);
    file.execute("INSERT INTO t VALUES (2)");
    transaction.commit();
  }
  EXPECT_EQ(file.query_number("SELECT sum(a) FROM t"), 2);
}

TEST(Sqlite, TextIsBoundAsText) {
  Database file(":memory:", std::chrono::milliseconds(0));
  file.execute("CREATE TABLE t (a TEXT NOT NULL) STRICT");
  const Statement insert(file, "INSERT INTO t VALUES (?1)");
  for (const std::string_view text : {"", "a"}) {
    Statement::Run run(insert);
    EXPECT_FALSE(run.bind_text(text).step());
  }
  EXPECT_EQ(file.query_number("SELECT count(*) FROM t WHERE a IN ('', 'a')"), 2);
}

TEST(Sqlite, AReadTransactionSeesOneState) {
  const TestFolder folder;
  Database writer(folder.file("t.db"), std::chrono::milliseconds(100));
  writer.execute("PRAGMA journal_mode = WAL; CREATE TABLE t (a INTEGER)");
  Database reader(folder.file("t.db"), std::chrono::milliseconds(100));
  {
    const ReadTransaction transaction(reader);
    EXPECT_EQ(reader.query_number("SELECT count(*) FROM t"), 0);
    writer.execute("INSERT INTO t VALUES (1)");
    EXPECT_EQ(reader.query_number("SELECT count(*) FROM t"), 0);
  }
  EXPECT_EQ(reader.query_number("SELECT count(*) FROM t"), 1);
}

TEST(Sqlite, AnErrorHasItsText) {
  Database file(":memory:", std::chrono::milliseconds(0));
  try {
    file.execute("nonsense");
    FAIL();
  } catch (const DatabaseError& error) {
    EXPECT_EQ(error.code, SQLITE_ERROR);
    EXPECT_NE(error.text.find("syntax error"), std::string::npos);
  }
}

}  // namespace
}  // namespace damper::store
