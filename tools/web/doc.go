// Package web holds the tools web_fetch and web_search.
//
// What it guarantees:
//
//   - A connection of web_fetch goes to the public internet or to what the
//     settings open. The address is checked where the connection is made, behind
//     the name lookup, for each redirect anew.
//   - A page costs bounded time and memory, whatever the server does.
//   - Text that a reader of the page does not see is not read either, and what is
//     read is marked as data.
package web
