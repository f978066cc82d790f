// Package tools holds the map of tools and the built-in tools for files and
// commands.
//
// A tool is four things: a name, a description for the model, a JSON Schema of
// its input, and a function. Where it came from (built in, user-defined, skill,
// connector) is of no matter: all are entries of one [Set]. A tool also says
// what a call needs, so that the user is asked about exactly that.
//
// Each tool here is one Go file with its description in a Markdown file of the
// same name beside it.
package tools
