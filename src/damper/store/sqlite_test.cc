#include "damper/store/sqlite.h"

#include <gtest/gtest.h>

#include "damper/base/folder_testing.h"

namespace damper::store {
namespace {

TEST(IdempotencyDatabase, AStatementIsRunAgainWithOtherValues) {
  SqliteFile file(":memory:", 0);
  file.run("CREATE TABLE t (a INTEGER, b BLOB)");
  const Statement insert(file.get(), "INSERT INTO t VALUES (?1, ?2)");
  for (const int i : {1, 2}) {
    Statement::Run run(insert);
    EXPECT_FALSE(run.bind(i).bind(std::string_view()).step());
    EXPECT_EQ(file.changes(), 1);
  }
  EXPECT_EQ(file.number("SELECT sum(a) FROM t"), 3);
  EXPECT_EQ(file.number("SELECT count(*) FROM t WHERE b IS NULL"), 0);  // Empty is not NULL.
}

TEST(IdempotencyDatabase, ATransactionThatIsNotCommittedNeverWas) {
  SqliteFile file(":memory:", 0);
  file.run("CREATE TABLE t (a INTEGER)");
  {
    const Transaction transaction(file);
    file.run("INSERT INTO t VALUES (1)");
  }
  {
    Transaction transaction(file);
    file.run("INSERT INTO t VALUES (2)");
    transaction.commit();
  }
  EXPECT_EQ(file.number("SELECT sum(a) FROM t"), 2);
}

TEST(IdempotencyDatabase, AnErrorHasItsText) {
  SqliteFile file(":memory:", 0);
  try {
    file.run("nonsense");
    FAIL();
  } catch (const DatabaseError& error) {
    EXPECT_EQ(error.code, SQLITE_ERROR);
    EXPECT_NE(error.text.find("syntax error"), std::string::npos);
  }
}

}  // namespace
}  // namespace damper::store
