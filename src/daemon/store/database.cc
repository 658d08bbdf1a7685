// SPDX-License-Identifier: Apache-2.0
#include "store/database.h"

#include <cerrno>
#include <climits>
#include <utility>

#include "os/files.h"

namespace berth::store {
namespace {

constexpr int kBusyMs = 20;  // Only a person with a database tool can hold a lock against us.

Errc code_of(sqlite3* database) {
  switch (sqlite3_errcode(database)) {
    case SQLITE_FULL:
      return Errc::kFull;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return Errc::kCorrupt;
    case SQLITE_PERM:
    case SQLITE_READONLY:
    case SQLITE_AUTH:
      return Errc::kPermission;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return Errc::kConflict;
    case SQLITE_IOERR:
      // SQLite knows a full disk, but not a full quota.
      return sqlite3_system_errno(database) == EDQUOT ? Errc::kFull : Errc::kIo;
    default:
      return Errc::kIo;
  }
}

Error error_of(sqlite3* database) {
  const char* path = sqlite3_db_filename(database, "main");
  return {code_of(database), std::string(path == nullptr || *path == '\0' ? "database" : path) +
                                 ": " + sqlite3_errmsg(database)};
}

}  // namespace

void Statement::Finalize::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

void Statement::bind_number(int parameter, std::int64_t value) {
  CHECK(sqlite3_bind_int64(statement_.get(), parameter, value) == SQLITE_OK);
}

void Statement::bind_text(int parameter, std::string_view text) {
  CHECK(text.size() <= INT_MAX);
  CHECK(sqlite3_bind_text(statement_.get(), parameter, text.data(), static_cast<int>(text.size()),
                          SQLITE_STATIC) == SQLITE_OK);
}

void Statement::clear(std::size_t parameters) {
  CHECK(std::cmp_equal(sqlite3_bind_parameter_count(statement_.get()), parameters));
  CHECK(sqlite3_clear_bindings(statement_.get()) == SQLITE_OK);
}

void Statement::reset() {
  sqlite3_reset(statement_.get());
}

Result<bool> Statement::step() {
  switch (sqlite3_step(statement_.get())) {
    case SQLITE_ROW:
      return true;
    case SQLITE_DONE:
      sqlite3_reset(statement_.get());
      return false;
    default:
      break;
  }
  Error error = error_of(sqlite3_db_handle(statement_.get()));
  sqlite3_reset(statement_.get());
  return error;
}

Status Statement::run() {
  for (;;) {
    TRY(row, step());
    if (!row) return Unit{};
  }
}

std::uint64_t Statement::number(int column) const {
  return static_cast<std::uint64_t>(signed_number(column));
}

std::int64_t Statement::signed_number(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

bool Statement::is_null(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

std::string_view Statement::text(int column) const {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
  if (text == nullptr) return {};
  return {text, static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

void Database::Close::operator()(sqlite3* database) const {
  // Statements are gone by now: they are declared after the database they belong to.
  CHECK(sqlite3_close(database) == SQLITE_OK);
}

Result<Database> Database::open(const std::string& path, Access access, const char* vfs) {
  int flags = SQLITE_OPEN_NOMUTEX;
  switch (access) {
    case Access::kCreate:
      flags |= SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
      break;
    case Access::kReadWrite:
      flags |= SQLITE_OPEN_READWRITE;
      break;
    case Access::kReadOnly:
      flags |= SQLITE_OPEN_READONLY;
      break;
  }
  if (access != Access::kReadOnly) TRY_STATUS(os::refuse_link(path));
  sqlite3* handle = nullptr;
  const int opened = sqlite3_open_v2(path.c_str(), &handle, flags, vfs);
  CHECK(handle != nullptr);  // Else the memory of the machine is at its end.
  Database database(handle);
  if (opened != SQLITE_OK) {
    return Error{code_of(handle), "cannot open " + path + ": " + sqlite3_errmsg(handle)};
  }
  CHECK(sqlite3_busy_timeout(handle, kBusyMs) == SQLITE_OK);
  return database;
}

Status Database::execute(const std::string& sql) {
  if (sqlite3_exec(handle(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) return error();
  return Unit{};
}

Result<Statement> Database::prepare(std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v3(handle(), sql.data(), static_cast<int>(sql.size()),
                         SQLITE_PREPARE_PERSISTENT, &statement, nullptr) != SQLITE_OK) {
    return error();
  }
  return Statement(statement);
}

Result<std::uint64_t> Database::number(const std::string& sql) {
  TRY(statement, prepare(sql));
  TRY(row, statement.step());
  if (!row) return Error{Errc::kCorrupt, sql + " gives nothing"};
  return statement.number(0);
}

Error Database::error() const {
  return error_of(handle());
}

bool Database::is_in_transaction() const {
  return sqlite3_get_autocommit(handle()) == 0;
}

}  // namespace berth::store
