// Package registry finds the provider and the facts of a model by its name.
//
// Facts come from, in this order: the user's settings, the vendor's live list,
// the embedded catalogue (loaded when first needed), and defaults. An unknown
// model is never refused; an unknown provider is an error that names the nearest
// candidates.
package registry
