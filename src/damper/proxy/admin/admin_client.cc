#include "damper/proxy/admin/admin_client.h"

#include <string_view>
#include <utility>

#include "damper/base/text/words.h"
#include "damper/http/server/local_access.h"

namespace damper::proxy {
namespace {

AdminClientError trouble(std::string sentence) {
  return {.sentence = std::move(sentence), .status = text::kTrouble};
}

}  // namespace

Expected<std::string, AdminClientError> AdminClient::send(http::Request request) {
  auto response = client_.send(std::move(request), true);
  if (!response) return unexpected(trouble(response.error()));
  if (response->status == 200) return std::move(response->body);
  return unexpected(refused(*response));
}

AdminClientError AdminClient::refused(const http::Response& answer) const {
  const bool ours = answer.fields.find("content-type").value_or("").starts_with("text/plain");
  std::string_view body = answer.body;
  while (body.ends_with('\n')) body.remove_suffix(1);
  if (!ours || body.empty()) {
    return trouble("the server on " + where() + " is not a damper proxy (status " +
                   std::to_string(answer.status) + "): check --admin");
  }
  std::string sentence = text::on_one_line(body);
  if (answer.status == 401) {
    sentence += client_.has_token() ? "; is --token-file the one of this proxy?"
                                    : "; give its file with --token-file";
  }
  return {.sentence = std::move(sentence), .status = kRefused};
}

Expected<AdminClient, AdminClientError> AdminClient::open(const std::string& admin,
                                                          const std::string& token_file) {
  auto client = http::CommandClient::open(
      {.name = "admin",
       .option = "--admin",
       .example = "http://127.0.0.1:9901",
       .when_absent = "is the proxy running with admin pages? check --admin"},
      admin);
  if (!client) return unexpected(trouble(client.error()));
  if (!token_file.empty()) {
    auto token = http::read_token(token_file);
    if (!token) return unexpected(trouble(token.error()));
    client->set_token(*std::move(token));
  }
  return AdminClient(*std::move(client));
}

Expected<std::string, AdminClientError> AdminClient::get(const std::string& target,
                                                         const std::string& last_event) {
  http::Request request;
  request.target = target;
  if (!last_event.empty()) request.fields.add("last-event-id", last_event);
  return send(std::move(request));
}

Expected<std::string, AdminClientError> AdminClient::put(const std::string& target,
                                                         std::string json) {
  http::Request request;
  request.method = "PUT";
  request.target = target;
  request.fields.add("content-type", "application/json");
  request.body = std::move(json);
  return send(std::move(request));
}

Expected<std::string, AdminClientError> AdminClient::post(const std::string& target) {
  http::Request request;
  request.method = "POST";
  request.target = target;
  return send(std::move(request));
}

}  // namespace damper::proxy
