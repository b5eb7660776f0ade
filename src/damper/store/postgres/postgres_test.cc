#include "damper/store/postgres/postgres.h"

#include <gtest/gtest.h>

#include <array>

#include "damper/store/postgres/cluster_testing.h"

namespace damper::store {
namespace {

TEST(Postgres, ValuesOfEachTypeComeBack) {
  const auto connection = PostgresCluster::get().connect();
  constexpr PgStatement kEcho{"echo",
                              "SELECT $1::bigint, $2::text, $3::bytea, $4::boolean, $5::bigint,"
                              " (SELECT sum(x)::bigint FROM unnest($6::bigint[]) x),"
                              " array_to_string($7::text[], '|'), ($8::bytea[])[2],"
                              " coalesce(cardinality($9::bigint[]), -1)::bigint"};
  const std::array<std::int64_t, 2> numbers = {5, -7};
  const std::array<std::string_view, 2> texts = {"a'b", ""};
  const std::string_view bytes("\0\xff\n", 3);
  const std::array<std::string_view, 2> arrays = {"", bytes};
  for (int time = 0; time < 2; ++time) {  // Prepared, and then used again.
    const auto result = connection->query({kEcho, PgParameters()
                                                      .add(std::int64_t{-3})
                                                      .add_text("é")
                                                      .add_bytes(bytes)
                                                      .add(true)
                                                      .add_null()
                                                      .add_array(numbers)
                                                      .add_texts(texts)
                                                      .add_bytes_array(arrays)
                                                      .add_array({})});
    ASSERT_TRUE(result) << result.error().sentence;
    EXPECT_EQ(result->number(0, 0), -3);
    EXPECT_EQ(result->text(0, 1), "é");
    EXPECT_EQ(result->text(0, 2), bytes);
    EXPECT_TRUE(result->boolean(0, 3));
    EXPECT_TRUE(result->is_null(0, 4));
    EXPECT_EQ(result->number(0, 5), -2);
    EXPECT_EQ(result->text(0, 6), "a'b|");
    EXPECT_EQ(result->text(0, 7), bytes);
    EXPECT_EQ(result->number(0, 8), 0);
  }
}

constexpr PgStatement kInsert{"insert", "INSERT INTO pg_temp.t SELECT $1 RETURNING a"};
constexpr PgStatement kCount{"count", "SELECT count(*) FROM pg_temp.t"};

TEST(Postgres, APipelineIsOneTransaction) {
  const auto connection = PostgresCluster::get().connect();
  ASSERT_TRUE(connection->execute("CREATE TEMP TABLE t (a bigint PRIMARY KEY)"));
  const auto insert = [](std::int64_t a) { return PgCall{kInsert, PgParameters().add(a)}; };
  const auto both = connection->query_all(std::array{insert(1), insert(2), PgCall{kCount}});
  ASSERT_TRUE(both) << both.error().sentence;
  ASSERT_EQ(both->size(), 3U);
  EXPECT_EQ((*both)[1].number(0, 0), 2);
  EXPECT_EQ((*both)[1].changes(), 1);
  EXPECT_EQ((*both)[2].number(0, 0), 2);
  const auto refused = connection->query_all(std::array{insert(3), insert(1), insert(4)});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().state, "23505");
  EXPECT_FALSE(refused.error().is_lost());
  EXPECT_EQ(refused.error().sentence.find('\n'), std::string::npos);
  EXPECT_EQ(connection->query({kCount})->number(0, 0), 2);
}

TEST(Postgres, AStatementThatIsNotSqlIsAnErrorAndTheSessionGoesOn) {
  const auto connection = PostgresCluster::get().connect();
  const auto refused = connection->query({{"bad", "nonsense"}});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().sentence.find("syntax error"), std::string::npos);
  EXPECT_TRUE(connection->query({{"good", "SELECT 1::bigint"}}));
}

TEST(Postgres, ATerminatedSessionIsLost) {
  const auto connection = PostgresCluster::get().connect();
  const auto other = PostgresCluster::get().connect();
  const auto pid = connection->query({{"pid", "SELECT pg_backend_pid()::bigint"}});
  ASSERT_TRUE(pid);
  ASSERT_TRUE(other->execute("SELECT pg_terminate_backend(" + std::to_string(pid->number(0, 0)) +
                             ", 5000)"));
  const auto single = connection->query({{"one", "SELECT 1::bigint"}});
  ASSERT_FALSE(single);
  EXPECT_TRUE(single.error().is_lost());
  EXPECT_TRUE(connection->is_lost());
  const auto pipeline = connection->query_all(std::array{PgCall{{"two", "SELECT 2::bigint"}}});
  ASSERT_FALSE(pipeline);
  EXPECT_TRUE(pipeline.error().is_lost());
}

TEST(Postgres, NotificationsArrive) {
  const auto listener = PostgresCluster::get().connect();
  const auto sender = PostgresCluster::get().connect();
  ASSERT_TRUE(listener->execute("LISTEN c"));
  ASSERT_TRUE(sender->execute("NOTIFY c, 'hello'"));
  ASSERT_TRUE(listener->execute("NOTIFY c, 'self'"));
  ASSERT_TRUE(listener->input());
  std::string seen;
  while (const auto next = listener->next_notification()) {
    seen += next->payload + (next->own ? "! " : " ");
  }
  EXPECT_EQ(seen, "hello self! ");
}

TEST(PostgresUrl, ThePasswordIsNeverShown) {
  const auto url = PostgresUrl::parse("postgres://me:se%3Acret@127.0.0.1:1/db?sslmode=disable");
  ASSERT_TRUE(url) << url.error();
  EXPECT_EQ(url->text(), "postgres://me@127.0.0.1:1/db?sslmode=disable");
  EXPECT_EQ(url->redact("bad se:cret!"), "bad ***!");
  const auto refused = PgConnection::open(*url);
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().is_lost());
  EXPECT_EQ(refused.error().sentence.find("cret"), std::string::npos);
  EXPECT_NE(refused.error().sentence.find("postgres://me@127.0.0.1:1/db"), std::string::npos);
  EXPECT_EQ(PostgresUrl::parse("postgresql://h/d?user=me&password=top&port=5")->text(),
            "postgresql://h/d?user=me&password=***&port=5");
  for (const char* const bad :
       {"mysql://x", "postgres://me:top@[::1/db", "postgres://me:top@h/d?nosuch=1"}) {
    const auto parsed = PostgresUrl::parse(bad);
    ASSERT_FALSE(parsed) << bad;
    EXPECT_EQ(parsed.error().find("top"), std::string::npos) << parsed.error();
  }
}

}  // namespace
}  // namespace damper::store
