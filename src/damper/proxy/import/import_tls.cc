#include "damper/proxy/import/import_tls.h"

#include <algorithm>
#include <array>
#include <utility>

#include "damper/base/text/words.h"
#include "damper/http/tls/tls_protocol.h"
#include "damper/proxy/import/field_table.h"

namespace damper::proxy {
namespace {

using config::SourceLocation;
using config::Tree;
using policy::Fields;
using policy::ImportNotes;

// The name of a file that has to be written before the proxy starts.
std::string missing_file(std::string_view secret, std::string_view what) {
  return "MISSING-" + policy::as_route_name(secret) + '-' + std::string(what) + ".pem";
}

// A DataSource: a file, or else the name of one that does not exist.
std::string read_source(const Tree& tree, std::string_view secret, std::string_view what,
                        ImportNotes& notes) {
  Fields fields(tree, what, notes);
  std::string file = fields.text("filename");
  if (!file.empty()) {
    fields.leave_rest();
    return file;
  }
  fields.skip({"inline_string", "inline_bytes", "environment_variable"});
  fields.leave_rest();
  std::string missing = missing_file(secret, what);
  notes.left_out(tree.place, std::string(what) +
                                 " is not in a file: write it to one, and its name "
                                 "instead of " +
                                 text::in_quotes(missing));
  return missing;
}

ImportedCertificate read_certificate(const Tree& tree, std::string_view secret,
                                     ImportNotes& notes) {
  Fields fields(tree, "tls_certificate", notes);
  ImportedCertificate certificate{.certificate_file = missing_file(secret, "certificate"),
                                  .key_file = missing_file(secret, "key"),
                                  .server_names = {},
                                  .place = tree.place};
  if (const Tree* chain = fields.take("certificate_chain")) {
    certificate.certificate_file = read_source(*chain, secret, "certificate", notes);
  }
  if (const Tree* key = fields.take("private_key")) {
    certificate.key_file = read_source(*key, secret, "key", notes);
  }
  fields.skip({"watched_directory"});  // Changed files are always read again.
  fields.leave_rest();
  return certificate;
}

// A secret by its name in the file; null, with a note, if it is not there.
const Tree* find_secret(const Tree& reference, std::string& name, const EnvoyImport& file) {
  Fields fields(reference, "the secret", file.notes);
  name = fields.text("name");
  const auto known = file.secrets.find(name);
  if (known != file.secrets.end()) {
    fields.skip({"sds_config"});
    fields.leave_rest();
    return known->second;
  }
  fields.skip({"sds_config"});
  file.notes.left_out(reference.place,
                      "the secret " + text::in_quotes(name) +
                          " is not in this file: write it to files, which are read again when they "
                          "change, and their names here");
  return nullptr;
}

std::vector<ImportedCertificate> read_certificates_of(Fields& common, const EnvoyImport& file) {
  std::vector<ImportedCertificate> all;
  for (const Tree& tree : common.list("tls_certificates")) {
    all.push_back(read_certificate(tree, "tls", file.notes));
  }
  for (const Tree& reference : common.list("tls_certificate_sds_secret_configs")) {
    std::string name;
    const Tree* secret = find_secret(reference, name, file);
    const Tree* tree = secret == nullptr ? nullptr : find_field(*secret, "tls_certificate");
    const Tree none;
    all.push_back(read_certificate(tree == nullptr ? none : *tree, name, file.notes));
    all.back().place = reference.place;
  }
  return all;
}

// The CA's file; empty when the context has none.
policy::Placed<std::string> read_validation(const Tree& tree, std::string_view secret,
                                            bool of_clients, ImportNotes& notes) {
  Fields fields(tree, "validation_context", notes);
  policy::Placed<std::string> ca;
  if (const Tree* source = fields.take("trusted_ca")) {
    ca = {read_source(*source, secret, "ca", notes), source->place};
  }
  fields.skip({"watched_directory"});
  for (const std::string_view names :
       {"match_typed_subject_alt_names", "match_subject_alt_names"}) {
    fields.leave(names, of_clients
                            ? "clients with any certificate of client_ca_file are accepted"
                            : "a certificate must have the name that is connected to, or tls.sni");
  }
  fields.leave_rest();
  return ca;
}

policy::Placed<std::string> read_ca(Fields& common, bool of_clients, const EnvoyImport& file) {
  if (const Tree* context = common.take("validation_context")) {
    return read_validation(*context, "tls", of_clients, file.notes);
  }
  policy::Placed<std::string> ca;
  const Tree* reference = common.take("validation_context_sds_secret_config");
  const Tree* combined = common.take("combined_validation_context");
  if (combined != nullptr) {
    Fields fields(*combined, "combined_validation_context", file.notes);
    if (const Tree* context = fields.take("default_validation_context")) {
      ca = read_validation(*context, "tls", of_clients, file.notes);
    }
    reference = fields.take("validation_context_sds_secret_config");
    fields.leave_rest();
  }
  if (reference == nullptr || !ca.value.empty()) return ca;
  std::string name;
  const Tree* secret = find_secret(*reference, name, file);
  const Tree* context = secret == nullptr ? nullptr : find_field(*secret, "validation_context");
  if (context != nullptr) return read_validation(*context, name, of_clients, file.notes);
  return {missing_file(name, "ca"), reference->place};
}

void set_version(Fields& fields, std::string_view theirs, std::string_view ours, PartDraft& draft,
                 ImportNotes& notes) {
  const Tree* tree = fields.take(theirs);
  if (tree == nullptr || tree->text == "TLS_AUTO" || tree->text == "0") return;
  if (tree->text == "TLSv1_0" || tree->text == "TLSv1_1") {
    notes.left_out(tree->place, std::string(theirs) + " " + tree->text +
                                    " has no equivalent: the lowest version is TLSv1_2");
    return;
  }
  draft.set(ours, *tree);
}

// Envoy's lists of suites have BoringSSL's groups: [A|B] are equal in preference.
std::vector<std::string> suites_of(std::span<const Tree> suites) {
  std::vector<std::string> all;
  for (const Tree& suite : suites) {
    std::string one;
    for (const char c : suite.text + '|') {
      if (c == '[' || c == ']') continue;
      if (c != '|') {
        one += c;
        continue;
      }
      if (!one.empty()) all.push_back(std::exchange(one, {}));
    }
  }
  return all;
}

// The names of a list that OpenSSL has.
template <class Member>
std::vector<std::string> known_names(std::vector<std::string> names, Member member,
                                     SourceLocation place, ImportNotes& notes) {
  std::vector<std::string> known;
  for (std::string& name : names) {
    http::TlsProtocolOptions options;
    member(options).assign({name});
    if (const auto wrong = http::find_error(options)) {
      notes.left_out(place, wrong->sentence + "; it is left out");
    } else {
      known.push_back(std::move(name));
    }
  }
  return known;
}

std::vector<std::string> texts_of(std::span<const Tree> items) {
  std::vector<std::string> texts;
  for (const Tree& item : items) texts.push_back(item.text);
  return texts;
}

void read_parameters(const Tree& tree, PartDraft& draft, ImportNotes& notes) {
  Fields fields(tree, "tls_params", notes);
  set_version(fields, "tls_minimum_protocol_version", "tls.min_version", draft, notes);
  set_version(fields, "tls_maximum_protocol_version", "tls.max_version", draft, notes);
  const SourceLocation place = fields.place_of("cipher_suites");
  const std::vector<std::string> suites = known_names(
      suites_of(fields.list("cipher_suites")),
      [](auto& options) -> auto& { return options.cipher_suites; }, place, notes);
  if (!suites.empty()) draft.set("tls.cipher_suites", make_list(suites, place));
  const SourceLocation curves_place = fields.place_of("ecdh_curves");
  const std::vector<std::string> curves = known_names(
      texts_of(fields.list("ecdh_curves")), [](auto& options) -> auto& { return options.curves; },
      curves_place, notes);
  if (!curves.empty()) draft.set("tls.curves", make_list(curves, curves_place));
  if (draft.has("tls.min_version") && draft.has("tls.max_version") &&
      draft.raw("tls.min_version") > draft.raw("tls.max_version")) {
    notes.left_out(tree.place,
                   "the highest version of TLS is below the lowest one: it is left out");
    draft.remove("tls.max_version");
  }
  fields.leave_rest();
}

// What ALPN offers, as the part's protocol.
void read_alpn(Fields& common, PartDraft& draft) {
  const SourceLocation place = common.place_of("alpn_protocols");
  bool h1 = false;
  bool h2 = false;
  for (const Tree& protocol : common.list("alpn_protocols")) {
    h1 = h1 || protocol.text == "http/1.1";
    h2 = h2 || protocol.text == "h2";
  }
  if ((h1 || h2) && !draft.has("protocol")) {
    draft.set("protocol", h1 && h2 ? "auto" : h1 ? "http1" : "http2", place);
  }
}

// A key that is not accepted must not make a listener one without TLS, or one without mTLS.
void keep_tls(PartDraft& listener, SourceLocation place) {
  const bool has_both = listener.has("tls.certificate_file") && listener.has("tls.key_file");
  if (!has_both && (!listener.has("tls.certificates") || listener.has("tls.certificate_file") ||
                    listener.has("tls.key_file"))) {
    listener.remove("tls.certificate_file");
    listener.remove("tls.key_file");
    listener.set("tls.certificate_file", missing_file("tls", "certificate"), place);
    listener.set("tls.key_file", missing_file("tls", "key"), place);
  }
  if (listener.has("tls.require_client_certificate") && !listener.has("tls.client_ca_file")) {
    listener.set("tls.client_ca_file", missing_file("tls", "ca"), place);
  }
}

}  // namespace

std::vector<ImportedCertificate> read_downstream_tls(const Tree& tree,
                                                     const std::vector<std::string>& server_names,
                                                     PartDraft& listener, const EnvoyImport& file) {
  ImportNotes& notes = file.notes;
  Fields fields(tree, "DownstreamTlsContext", notes);
  fields.skip({"@type"});
  std::vector<ImportedCertificate> certificates;
  const auto requires_one = fields.boolean("require_client_certificate");
  policy::Placed<std::string> ca;
  if (const Tree* common = fields.take("common_tls_context")) {
    Fields inner(*common, "common_tls_context", notes);
    certificates = read_certificates_of(inner, file);
    ca = read_ca(inner, true, file);
    if (const Tree* parameters = inner.take("tls_params")) {
      read_parameters(*parameters, listener, notes);
    }
    read_alpn(inner, listener);
    inner.leave_rest();
  }
  if (!ca.value.empty()) listener.set("tls.client_ca_file", ca.value, ca.place);
  if (requires_one && requires_one->value) {
    if (ca.value.empty()) {
      notes.left_out(requires_one->place,
                     "require_client_certificate without trusted_ca accepts every certificate in "
                     "Envoy; here it needs client_ca_file and is left out");
    } else {
      listener.set("tls.require_client_certificate", "true", requires_one->place);
    }
  }
  if (const auto timeout = fields.duration("session_timeout")) {
    listener.set_limit("tls.session_timeout", *timeout);
  }
  const auto stateful = fields.boolean("disable_stateless_session_resumption");
  if (stateful && stateful->value) listener.set("tls.session_timeout", "off", stateful->place);
  fields.leave("session_ticket_keys", "the process makes and replaces its keys");
  fields.leave("session_ticket_keys_sds_secret_config", "the process makes and replaces its keys");
  fields.leave_rest();
  if (certificates.empty()) {
    notes.left_out(tree.place, "the TLS context has no certificate: write the names of its files");
    certificates.push_back(read_certificate(Tree{}, "tls", notes));
    certificates.back().place = tree.place;
  }
  for (ImportedCertificate& one : certificates) one.server_names = server_names;
  return certificates;
}

void set_certificates(const std::vector<ImportedCertificate>& certificates, bool refuses_others,
                      PartDraft& listener) {
  if (certificates.empty()) return;
  // The one for all other names and for clients without SNI: that of the chain without names.
  const auto first =
      std::find_if(certificates.begin(), certificates.end(),
                   [](const ImportedCertificate& one) { return one.server_names.empty(); });
  if (first != certificates.end()) {
    listener.set("tls.certificate_file", first->certificate_file, first->place);
    listener.set("tls.key_file", first->key_file, first->place);
  }
  Tree list = make_list({}, certificates.front().place);
  for (auto one = certificates.begin(); one != certificates.end(); ++one) {
    if (one == first) continue;
    Tree item = make_map({{"certificate_file", one->certificate_file}, {"key_file", one->key_file}},
                         one->place);
    if (!one->server_names.empty()) {
      item.items.push_back(make_scalar("server_names", one->place));
      item.items.push_back(make_list(one->server_names, one->place));
    }
    list.items.push_back(std::move(item));
  }
  if (!list.items.empty()) listener.set("tls.certificates", list);
  if (refuses_others && first == certificates.end()) {
    listener.set("tls.reject_unknown_names", "true");
  }
  keep_tls(listener, certificates.front().place);
}

void read_upstream_tls(const Tree& tree, PartDraft& cluster, const EnvoyImport& file) {
  ImportNotes& notes = file.notes;
  Fields fields(tree, "UpstreamTlsContext", notes);
  fields.skip({"@type"});
  policy::Placed<std::string> ca;
  if (const Tree* common = fields.take("common_tls_context")) {
    Fields inner(*common, "common_tls_context", notes);
    const std::vector<ImportedCertificate> certificates = read_certificates_of(inner, file);
    if (!certificates.empty()) {
      cluster.set("tls.certificate_file", certificates[0].certificate_file, certificates[0].place);
      cluster.set("tls.key_file", certificates[0].key_file, certificates[0].place);
      if (!cluster.has("tls.certificate_file") || !cluster.has("tls.key_file")) {
        cluster.remove("tls.certificate_file");
        cluster.remove("tls.key_file");
      }
    }
    if (certificates.size() > 1) {
      notes.left_out(certificates[1].place, "a further client certificate is left out");
    }
    ca = read_ca(inner, false, file);
    if (const Tree* parameters = inner.take("tls_params")) {
      read_parameters(*parameters, cluster, notes);
    }
    read_alpn(inner, cluster);
    inner.leave_rest();
  }
  if (ca.value.empty()) {
    notes.note(tree.place,
               "without trusted_ca Envoy accepts every certificate of an upstream; here it is "
               "verified by the CAs of the system");
  } else {
    cluster.set("tls.ca_file", ca.value, ca.place);
  }
  if (const Tree* sni = fields.take("sni")) {
    cluster.set("tls.sni", *sni);
  } else {
    notes.note(tree.place,
               "without sni Envoy sends and verifies no name; here the certificate must have the "
               "endpoint's host, or that of tls.sni");
  }
  fields.leave("max_session_keys", "sessions to upstreams are always resumed");
  fields.leave_rest();
}

const Tree* tls_of(const Tree& transport_socket, std::string_view type, bool& is_unknown,
                   ImportNotes& notes) {
  Fields fields(transport_socket, "transport_socket", notes);
  const std::string name = fields.text("name");
  const Tree* config = fields.take("typed_config");
  fields.leave_rest();
  if (config != nullptr && type_of(*config) == type) return config;
  const bool is_raw = name == "envoy.transport_sockets.raw_buffer" ||
                      (config != nullptr && type_of(*config) == "RawBuffer");
  is_unknown = !is_raw;
  if (is_unknown) {
    notes.left_out(transport_socket.place,
                   "transport socket " + text::in_quotes(name) + " has no equivalent");
  }
  return nullptr;
}

}  // namespace damper::proxy
