// SPDX-License-Identifier: Apache-2.0
// SQLite as this program uses it: handles that close themselves, failures as Errors that name the
// file. Nothing here knows what is stored. A Database and its Statements belong to one thread.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/result.h"

namespace berth::store {

class Statement {
 public:
  Statement() = default;  // To be given what prepare() makes.
  /// All parameters in their order: numbers, text, and what holds a number. What is absent is NULL.
  /// Text must outlive the next step.
  template <class... Values>
  void bind(const Values&... values) {
    clear(sizeof...(values));
    int parameter = 0;
    (bind_one(++parameter, values), ...);
  }
  template <class... Values>
  Status run_with(const Values&... values) {
    bind(values...);
    return run();
  }
  /// Leaves the rows that were not read, so that it can be run again.
  void reset();
  /// True: there is a row. False: done, and the statement can be run again.
  Result<bool> step();
  /// Runs it to its end, ignoring rows.
  Status run();

  std::uint64_t number(int column) const;
  std::uint32_t number32(int column) const { return static_cast<std::uint32_t>(number(column)); }
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

  template <class T>
  void bind_one(int parameter, const T& value) {
    if constexpr (std::is_convertible_v<const T&, std::string_view>) {
      bind_text(parameter, value);
    } else if constexpr (std::is_integral_v<T>) {
      // SQLite's numbers are signed; ours come back from the same bits.
      bind_number(parameter, static_cast<std::int64_t>(value));
    } else if constexpr (requires { value.has_value(); }) {
      if (value) bind_one(parameter, *value);
    } else {
      bind_one(parameter, value.value);
    }
  }
  void clear(std::size_t parameters);
  void bind_number(int parameter, std::int64_t value);
  void bind_text(int parameter, std::string_view text);

  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

class Database {
 public:
  enum class Access : std::uint8_t { kReadWrite, kCreate, kReadOnly };
  /// `vfs`: the name of SQLite's door to the files; null for the usual one.
  static Result<Database> open(const std::string& path, Access access, const char* vfs);

  Status execute(const std::string& sql);
  Result<Statement> prepare(std::string_view sql);
  /// Once, with these parameters.
  template <class... Values>
  Status run(std::string_view sql, const Values&... values) {
    TRY(statement, prepare(sql));
    return statement.run_with(values...);
  }
  /// All that `work` writes, or nothing.
  template <class Work>
  Status in_transaction(const Work& work) {
    TRY_STATUS(execute("BEGIN IMMEDIATE"));
    Status done = work();
    if (done.ok()) done = execute("COMMIT");
    // Some failures have rolled it back already.
    if (!done.ok() && is_in_transaction()) (void)execute("ROLLBACK");
    return done;
  }
  /// The one number that a query gives, as in "PRAGMA user_version".
  Result<std::uint64_t> number(const std::string& sql);
  /// What went wrong last.
  Error error() const;
  bool is_in_transaction() const;
  sqlite3* handle() const { return database_.get(); }

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  explicit Database(sqlite3* database) : database_(database) {}

  std::unique_ptr<sqlite3, Close> database_;
};

}  // namespace berth::store
