package chat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Class says what kind of failure an error is, and so what the runner does.
type Class string

// The classes of errors. Only ClassRateLimit and ClassTransient are retried.
const (
	ClassRateLimit    Class = "rate_limit"
	ClassTransient    Class = "transient"
	ClassAuth         Class = "authentication"
	ClassPermission   Class = "permission"
	ClassPayment      Class = "payment"
	ClassQuota        Class = "quota"
	ClassRefusal      Class = "refusal"
	ClassUnknownModel Class = "unknown_model"
	ClassBadRequest   Class = "bad_request"
	ClassOverflow     Class = "context_overflow"
	ClassAborted      Class = "aborted"
	ClassStore        Class = "store"
	ClassBudget       Class = "budget"
	ClassEmpty        Class = "empty_answer"
	ClassMisuse       Class = "misuse"
	ClassInternal     Class = "internal"
)

// Retryable reports whether another attempt can help.
func (c Class) Retryable() bool { return c == ClassRateLimit || c == ClassTransient }

// Error is a classed failure with a sentence for the user. ID and Args let a
// view say the sentence in the user's language; Message is its English form
// and ends with what to do next.
type Error struct {
	Class   Class    `json:"class"`
	ID      string   `json:"id,omitempty"`
	Args    []string `json:"args,omitempty"`
	Message string   `json:"message"`
	// Provider and Status are set for errors that came from a vendor.
	Provider string `json:"provider,omitempty"`
	Status   int    `json:"status,omitempty"`
	// RetryAfter is the wait that the server asked for; HasRetryAfter tells a
	// wait of 0 from none.
	RetryAfter    time.Duration `json:"retry_after,omitempty"`
	HasRetryAfter bool          `json:"has_retry_after,omitempty"`
	// Cause is the underlying error; it does not cross the socket.
	Cause error `json:"-"`
}

// NewError makes an error whose English sentence is format with args. id is the
// key of the sentence in the message catalogues, where {0}, {1}… stand for the
// args.
func NewError(class Class, id, format string, args ...any) *Error {
	e := &Error{Class: class, ID: id, Message: fmt.Sprintf(format, args...)}
	for _, a := range args {
		e.Args = append(e.Args, fmt.Sprint(a))
	}
	return e
}

// Wrap records the cause and returns the error.
func (e *Error) Wrap(cause error) *Error { e.Cause = cause; return e }

// Error returns the English sentence.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// AsError returns err as a classed error. Cancellation becomes ClassAborted;
// what nobody classed becomes ClassInternal. nil stays nil.
func AsError(err error) *Error {
	if err == nil {
		return nil
	}
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	if errors.Is(err, context.Canceled) {
		return NewError(ClassAborted, "err.aborted", "Stopped.").Wrap(err)
	}
	return NewError(ClassInternal, "err.internal", "%v", err).Wrap(err)
}

// ClassOf is the class of err, or the empty class for nil.
func ClassOf(err error) Class {
	if err == nil {
		return ""
	}
	return AsError(err).Class
}

var _ json.Marshaler = (*durationMS)(nil)

// durationMS is a duration that stands in JSON as whole milliseconds.
type durationMS time.Duration

// MarshalJSON writes whole milliseconds.
func (d durationMS) MarshalJSON() ([]byte, error) {
	return json.Marshal(time.Duration(d).Milliseconds())
}

// UnmarshalJSON reads whole milliseconds.
func (d *durationMS) UnmarshalJSON(b []byte) error {
	var ms int64
	if err := json.Unmarshal(b, &ms); err != nil {
		return err
	}
	*d = durationMS(time.Duration(ms) * time.Millisecond)
	return nil
}
