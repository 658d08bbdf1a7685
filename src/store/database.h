// SPDX-License-Identifier: Apache-2.0
// SQLite as this program uses it: handles that close themselves, failures as Errors that name the
// file. Nothing here knows what is stored. A Database and its Statements belong to one thread.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace berth::store {

class Statement {
 public:
  /// Parameters count from 1. Text must outlive the next step.
  void bind(int parameter, std::uint64_t value);
  void bind(int parameter, std::int64_t value);
  void bind(int parameter, std::string_view text);
  /// All parameters are NULL again.
  void clear();
  /// Leaves the rows that were not read, so that it can be run again.
  void reset();
  /// True: there is a row. False: done, and the statement can be run again.
  Result<bool> step();
  /// Runs it to its end, ignoring rows.
  Status run();

  std::uint64_t number(int column) const;
  std::int64_t signed_number(int column) const;
  bool is_null(int column) const;
  /// Valid until the next step.
  std::string_view text(int column) const;

 private:
  friend class Database;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  explicit Statement(sqlite3_stmt* statement) : statement_(statement) {}

  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

class Database {
 public:
  enum class Access : std::uint8_t { kReadWrite, kCreate, kReadOnly };
  /// `vfs`: the name of SQLite's door to the files; null for the usual one.
  static Result<Database> open(const std::string& path, Access access, const char* vfs);

  Status execute(const std::string& sql);
  Result<Statement> prepare(std::string_view sql);
  /// The one number that a query gives, as in "PRAGMA user_version".
  Result<std::uint64_t> number(const std::string& sql);
  /// What went wrong last.
  Error error() const;
  bool in_transaction() const;
  sqlite3* handle() const { return database_.get(); }

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  explicit Database(sqlite3* database) : database_(database) {}

  std::unique_ptr<sqlite3, Close> database_;
};

}  // namespace berth::store
