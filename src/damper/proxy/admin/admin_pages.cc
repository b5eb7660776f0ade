#include "damper/proxy/admin/admin_pages.h"

#include <algorithm>
#include <exception>
#include <string>
#include <utility>

#include "damper/base/text/words.h"
#include "damper/observe/exposition.h"
#include "damper/proxy/admin/orders.h"
#include "damper/proxy/admin/state_json.h"

namespace damper::proxy {
namespace {

using http::Request;
using http::Response;

struct Page {
  std::string_view method;
  std::string_view path;
  AdminThread thread;
  std::string_view description;  // in the index
};

// In the order of the index.
constexpr std::array<Page, 12> kPages = {{
    {"GET", "/", AdminThread::loop, ""},
    {"GET", "/healthz", AdminThread::loop, "200 while the process runs"},
    {"GET", "/readyz", AdminThread::reads, "readiness; 503 while draining"},
    {"GET", "/metrics", AdminThread::reads, "Prometheus metrics"},
    {"GET", "/policy", AdminThread::reads, "the policy in force with all defaults, as YAML"},
    {"GET", "/state", AdminThread::reads, "budgets, breakers, limits and pools, as JSON"},
    {"GET", "/switches", AdminThread::flips, "positions of the switches, with reasons and times"},
    {"PUT", "/switches", AdminThread::flips, "turn a switch off or on"},
    {"GET", "/breakers", AdminThread::flips, "breakers that are forced, with reasons and times"},
    {"PUT", "/breakers", AdminThread::flips, "force a breaker open or closed, or reset it"},
    {"POST", "/reload", AdminThread::reloads, "reload the configuration"},
    {"GET", "/events", AdminThread::loop, "event stream (server-sent events)"},
}};

bool fits(const Page& page, std::string_view method) {
  return page.method == method || (page.method == "GET" && method == "HEAD");
}

const Page* find_page(const Request& request) {
  const std::string_view path = path_of(request.target);
  for (const Page& page : kPages) {
    if (page.path == path && fits(page, request.method)) return &page;
  }
  return nullptr;
}

// (2)
void add_safety(Response& response) {
  response.fields.set("cache-control", "no-store");
  response.fields.set("x-content-type-options", "nosniff");
  response.fields.set("x-frame-options", "DENY");
  response.fields.set("cross-origin-resource-policy", "same-origin");
  response.fields.set("content-security-policy",
                      "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; "
                      "form-action 'none'; base-uri 'none'");
}

Response typed(std::string_view type, std::string body) {
  Response response;
  response.fields.add("content-type", type);
  response.body = std::move(body);
  return response;
}

Response json_answer(std::string body) { return typed("application/json", std::move(body) + '\n'); }

std::string index_page() {
  std::string page =
      "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>damper proxy</title>"
      "<style>body{font:16px/1.5 system-ui,sans-serif;max-width:45em;margin:3em auto;padding:0 1em}"
      "td{padding:.1em 1em .1em 0}code{font:14px monospace}</style>"
      "<h1>damper proxy</h1><table>";
  for (const Page& known : kPages) {
    if (known.description.empty()) continue;
    const std::string path(known.path);
    page.append("<tr><td><code>").append(known.method).append("</code><td>");
    if (known.method == "GET") {
      page.append("<a href=\"").append(path).append("\">").append(path).append("</a>");
    } else {
      page += path;
    }
    page.append("<td>").append(known.description);
  }
  return page +
         "</table><p>From a shell: <code>damper ctl status</code>, "
         "<code>damper ctl --help</code>.\n";
}

Response not_found(std::string_view path) {
  std::string sentence = "there is no " + text::in_quotes(path) + " here; there are";
  std::string_view last;
  for (const Page& page : kPages) {
    if (page.path != last) sentence.append(" ").append(page.path);
    last = page.path;
  }
  return plain_answer(404, sentence);
}

// The path is known by another method, or not at all.
Response unknown(const Request& request) {
  const std::string_view path = path_of(request.target);
  std::string allowed;
  for (const Page& page : kPages) {
    if (page.path != path) continue;
    if (!allowed.empty()) allowed += ", ";
    allowed += page.method == "GET" && path != "/events" ? "GET, HEAD" : std::string(page.method);
  }
  if (allowed.empty()) return not_found(path);
  Response response = plain_answer(405, std::string(path) + " takes " + allowed);
  response.fields.add("allow", allowed);
  return response;
}

}  // namespace

Response plain_answer(int status, std::string_view sentence) {
  Response response = typed("text/plain; charset=utf-8", std::string(sentence) + '\n');
  response.status = status;
  add_safety(response);
  return response;
}

AdminPages::AdminPages(AdminTarget& target, const http::AccessOptions& access, Clock now)
    : target_(target), access_(access), now_(std::move(now)) {
  for (std::size_t i = 0; i < refused_.size(); ++i) {
    refused_[i] = &target.registry().counter(
        "damper_admin_refused_total", "Requests to the admin server that were turned away.",
        {{"reason", std::string(http::kAccessReasonNames[i])}});
  }
}

AdminThread AdminPages::thread_of(const Request& request) noexcept {
  const Page* const page = find_page(request);
  return page == nullptr ? AdminThread::loop : page->thread;
}

Response AdminPages::answer(const Request& request) {
  if (const auto refusal = access_.check_visit(request.head())) return refused(*refusal);
  const Page* const page = find_page(request);
  if (page == nullptr || page->path == "/events") return unknown(request);
  if (page->method != "GET") {
    if (const auto refusal = access_.check_change(request.head())) return refused(*refusal);  // (1)
  }
  try {
    Response response = answer_known(request);
    add_safety(response);
    return response;
  } catch (const std::exception& error) {
    return plain_answer(500, "this failed: " + text::on_one_line(error.what()));
  }
}

Response AdminPages::refused(const http::AccessRefusal& refusal) {
  refused_[static_cast<std::size_t>(refusal.reason)]->add();
  Response response = plain_answer(refusal.status, refusal.sentence);
  if (refusal.status == 401) response.fields.add("www-authenticate", "Bearer");
  return response;
}

Response AdminPages::answer_known(const Request& request) {
  const std::string_view path = path_of(request.target);
  if (path == "/") return typed("text/html; charset=utf-8", index_page());
  if (path == "/healthz") return plain_answer(200, "ok");
  if (path == "/readyz") {
    const auto why = target_.find_unready();
    return why ? plain_answer(503, *why) : plain_answer(200, "ready");
  }
  if (path == "/metrics") {
    return typed(observe::kExpositionType, target_.registry().expose());
  }
  if (path == "/policy") return typed("application/yaml", target_.policy());
  if (path == "/state") return json_answer(state_json(target_.state()));
  if (path == "/reload") return reload();
  if (path == "/breakers") {
    return request.method == "PUT" ? force(request) : json_answer(forced_json(target_.forced()));
  }
  if (request.method == "PUT") return flip(request);
  return json_answer(switches_json(target_.switches()));
}

Response AdminPages::flip(const Request& request) {
  const auto order = parse_switch_order(request.body);
  if (!order) return plain_answer(400, order.error());
  const auto error = target_.flip(order->scope, order->which, order->setting(now_()));
  if (error) return plain_answer(404, *error);
  return json_answer(switches_json(target_.switches()));
}

Response AdminPages::force(const Request& request) {
  const auto order = parse_breaker_order(request.body);
  if (!order) return plain_answer(400, order.error());
  const auto error = target_.force(order->scope, order->replica, order->setting());
  if (error) return plain_answer(404, *error);
  return json_answer(forced_json(target_.forced()));
}

Response AdminPages::reload() {
  const auto version = target_.reload();
  if (!version) return plain_answer(version.error().conflict ? 409 : 400, version.error().sentence);
  return json_answer("{\"version\":" + std::to_string(*version) + '}');
}

}  // namespace damper::proxy
