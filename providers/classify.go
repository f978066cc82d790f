package providers

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"perch/chat"
)

// maxVendorText is how much of a vendor's own words a message repeats, in
// bytes: enough for the longest recorded explanation.
const maxVendorText = 600

// Failure is what a server said when it refused or broke off, whatever its wire.
type Failure struct {
	Provider string
	Model    string
	Host     string
	Status   int // HTTP status, or the one that an event in the stream names
	Type     string
	Code     string
	Message  string
	Param    string
	// Empty says that there was no body.
	Empty bool
	// RetryAfter is the server's hint, valid with HasRetryAfter.
	RetryAfter    time.Duration
	HasRetryAfter bool
}

// ParseFailure reads an error response of any vendor.
func ParseFailure(provider, model, host string, status int, h http.Header, body []byte, now time.Time) Failure {
	f := Failure{Provider: provider, Model: model, Host: host, Status: status, Empty: len(strings.TrimSpace(string(body))) == 0}
	f.RetryAfter, f.HasRetryAfter = RetryAfter(h, now)
	f.fill(body)
	return f
}

// ErrorEvent reads an error that came as an event inside a stream. raw is the
// error's value: an object or a string.
func ErrorEvent(raw []byte) Failure {
	var f Failure
	f.fill(raw)
	return f
}

// fill reads the shapes in which vendors write errors.
func (f *Failure) fill(body []byte) {
	var v any
	if json.Unmarshal(body, &v) != nil {
		f.Message = plainBody(string(body))
		return
	}
	if list, ok := v.([]any); ok && len(list) > 0 { // Gemini wraps the error in a list
		v = list[0]
	}
	f.walk(v)
}

func (f *Failure) walk(v any) {
	switch v := v.(type) {
	case string:
		f.setMessage(v)
	case map[string]any:
		f.object(v)
	}
}

func (f *Failure) object(m map[string]any) {
	for _, key := range []string{"error", "errors", "detail"} {
		switch in := m[key].(type) {
		case map[string]any, string:
			f.walk(in)
		case []any:
			if len(in) > 0 {
				f.walk(in[0])
			}
		}
	}
	if s, ok := m["type"].(string); ok && f.Type == "" && s != "error" {
		f.Type = s
	}
	if s, ok := m["status"].(string); ok && f.Type == "" {
		f.Type = s
	}
	switch c := m["code"].(type) {
	case string:
		if f.Code == "" {
			f.Code = c
		}
	case float64:
		if f.Code == "" {
			f.Code = fmt.Sprint(int(c))
		}
		if f.Status == 0 && c >= 400 && c < 600 {
			f.Status = int(c)
		}
	}
	if s, ok := m["param"].(string); ok && f.Param == "" {
		f.Param = s
	}
	for _, key := range []string{"message", "msg", "error_description"} {
		if s, ok := m[key].(string); ok {
			f.setMessage(s)
		}
	}
	if meta, ok := m["metadata"].(map[string]any); ok { // OpenRouter: what the vendor behind it said
		if raw, ok := meta["raw"].(string); ok && raw != "" {
			f.Message = strings.TrimSuffix(f.Message, ".") + ": " + raw
		}
	}
	if list, ok := m["details"].([]any); ok {
		f.details(list)
	}
}

// details reads Google's error details: the wait, and the words behind a
// message that is only a placeholder.
func (f *Failure) details(list []any) {
	for _, d := range list {
		m, _ := d.(map[string]any)
		if s, ok := m["retryDelay"].(string); ok && !f.HasRetryAfter {
			f.RetryAfter, f.HasRetryAfter = retryDelay(s)
		}
		if s, ok := m["detail"].(string); ok && (f.Message == "" || strings.HasPrefix(f.Message, "$")) {
			f.Message = s
		}
		if s, ok := m["reason"].(string); ok && f.Code != "" && strings.Trim(f.Code, "0123456789") == "" {
			f.Code = s
		}
		if vs, ok := m["violations"].([]any); ok {
			for _, v := range vs {
				vm, _ := v.(map[string]any)
				if id, _ := vm["quotaId"].(string); strings.Contains(id, "PerDay") {
					f.Code = "quota_per_day"
				}
			}
		}
	}
}

func (f *Failure) setMessage(s string) {
	if f.Message == "" {
		f.Message = s
	}
}

// plainBody makes one line of a body that is no JSON; of a page only its title
// is of use.
func plainBody(s string) string {
	if i := strings.Index(strings.ToLower(s), "<title>"); i >= 0 {
		s = s[i+len("<title>"):]
		if j := strings.Index(s, "<"); j >= 0 {
			s = s[:j]
		}
	}
	return strings.Join(strings.Fields(s), " ")
}

// statusClasses are the classes that follow from the status alone.
var statusClasses = map[int]chat.Class{
	401: chat.ClassAuth, 402: chat.ClassPayment, 403: chat.ClassPermission, 404: chat.ClassUnknownModel,
	408: chat.ClassTransient, 409: chat.ClassTransient, 425: chat.ClassTransient, 429: chat.ClassRateLimit,
	498: chat.ClassTransient, // Groq: capacity
	499: chat.ClassTransient,
	529: chat.ClassTransient,
}

// rule classes a failure by a word in its code, type or message, before its
// status is looked at.
type rule struct {
	words   []string
	message bool // look in the message, too
	class   chat.Class
}

// rules in the order in which they are tried.
var rules = []rule{
	{[]string{"insufficient_quota", "quota_per_day", "billing_hard_limit_reached", "insufficient_user_quota", "exceeded_current_quota_error", "1113"}, false, chat.ClassQuota},
	{[]string{"exceeded your current quota", "insufficient quota", "insufficient balance", "credit balance is too low", "out of credits", "insufficient credits", "no credits", "spending limit", "usage limit reached", "quota has been exhausted", "account balance"}, true, chat.ClassQuota},
	{[]string{"billing_error", "payment_required", "billing_not_active"}, false, chat.ClassPayment},
	{[]string{"invalid_api_key", "authentication_error", "unauthenticated", "api_key_invalid", "invalid_authentication_error", "account_deactivated"}, false, chat.ClassAuth},
	{[]string{"incorrect api key", "invalid api key", "api key not valid", "api key expired", "no auth credentials", "invalid x-api-key"}, true, chat.ClassAuth},
	{[]string{"permission_error", "permission_denied", "unsupported_country_region_territory", "model_not_allowed"}, false, chat.ClassPermission},
	{[]string{"user location is not supported"}, true, chat.ClassPermission},
	{[]string{"content_filter", "content_policy_violation", "cyber_policy", "data_inspection_failed", "responsibleaipolicyviolation", "1301"}, false, chat.ClassRefusal},
	{[]string{"model_not_found", "model_not_available", "invalid_model", "1211", "model_decommissioned"}, false, chat.ClassUnknownModel},
	{[]string{"does not exist or you do not have access", "is not a valid model", "provided model identifier is invalid", "no endpoints found", "model not exist", "is not found for api version", "not found, try pulling it"}, true, chat.ClassUnknownModel},
	{[]string{"rate_limit_error", "rate_limit_exceeded", "resource_exhausted", "too_many_requests", "throttlingexception", "1302", "1303", "1305"}, false, chat.ClassRateLimit},
	{[]string{"throttlingexception", "too many requests", "rate limit reached", "rate limit exceeded", "rate-limited upstream"}, true, chat.ClassRateLimit},
	{[]string{"overloaded_error", "overloaded", "server_error", "internal_server_error", "internal_error", "api_error", "unavailable", "deadline_exceeded", "timeout_error", "server_is_overloaded", "slow_down", "1312", "aborted"}, false, chat.ClassTransient},
}

// Class decides what kind of failure it is: what the code says, then what the
// words say, then the status. What nobody recognises is not retried.
func (f Failure) Class() chat.Class {
	if isOverflow(f) {
		return chat.ClassOverflow
	}
	code, typ, text := strings.ToLower(f.Code), strings.ToLower(f.Type), strings.ToLower(f.Message)
	for _, r := range rules {
		// Codes that are ordinary words of a refusal say nothing against a
		// status that names another class.
		if r.class == chat.ClassTransient && f.Status >= 400 && f.Status < 500 && f.Status != 429 && f.Status != 408 && f.Status != 409 && f.Status != 425 && f.Status != 499 {
			continue
		}
		for _, w := range r.words {
			if code == w || typ == w || (r.message && strings.Contains(text, w)) {
				return r.class
			}
		}
	}
	if f.Status == 400 && strings.Contains(text, "model") && modelMissing(text) {
		return chat.ClassUnknownModel
	}
	if c, ok := statusClasses[f.Status]; ok {
		return c
	}
	switch {
	case f.Status >= 500:
		return chat.ClassTransient
	case f.Status == 0 && (strings.Contains(text, "overloaded") || strings.Contains(text, "try again") || strings.Contains(text, "temporarily") || strings.Contains(text, "internal server error")):
		return chat.ClassTransient
	case f.Status == 0 && (strings.Contains(text, "rate limit") || strings.Contains(text, "too many requests")):
		return chat.ClassRateLimit
	}
	return chat.ClassBadRequest
}

// modelMissing reports whether a 400 speaks of a model that is not there.
func modelMissing(text string) bool {
	return strings.Contains(text, "does not exist") || strings.Contains(text, "not found") ||
		(strings.HasPrefix(text, "model ") && strings.Contains(text, "is not supported. supported models"))
}

// Error makes the classed error with a sentence that says what to do.
func (f Failure) Error() *chat.Error {
	e := f.sentence(f.Class())
	e.Provider, e.Status = f.Provider, f.Status
	e.RetryAfter, e.HasRetryAfter = f.RetryAfter, f.HasRetryAfter
	return e
}

func (f Failure) sentence(c chat.Class) *chat.Error {
	name, said := f.Provider, f.said()
	switch c {
	case chat.ClassOverflow:
		return chat.NewError(c, "err.provider.overflow", "The conversation does not fit the window of %s (%s). Compact it, start a new session, or choose a model with a larger window.", f.model(), said)
	case chat.ClassAuth:
		return chat.NewError(c, "err.provider.auth", "%s does not accept the key or sign-in (%s). Enter a valid key in the settings or with \"perch auth login %s\".", name, said, name)
	case chat.ClassPermission:
		return chat.NewError(c, "err.provider.permission", "%s does not allow this (%s). Check what the key and the account may use, or choose another model.", name, said)
	case chat.ClassPayment:
		return chat.NewError(c, "err.provider.payment", "%s asks for payment (%s). Add credit or a payment method to the account, or choose another provider.", name, said)
	case chat.ClassQuota:
		return chat.NewError(c, "err.provider.quota", "The quota at %s is used up (%s). Raise the limit or add credit in the account, or choose another provider; waiting does not help.", name, said)
	case chat.ClassRateLimit:
		return chat.NewError(c, "err.provider.rate_limit", "%s takes no more requests for the moment (%s). Wait a little, or choose another model.", name, said)
	case chat.ClassRefusal:
		return chat.NewError(c, "err.provider.refusal", "%s refused the request by its content rules (%s). Change the wording, or choose another model.", name, said)
	case chat.ClassUnknownModel:
		return chat.NewError(c, "err.provider.unknown_model", "%s has no model %s (%s). Choose another one; \"perch models\" lists them.", name, f.Model, said)
	case chat.ClassTransient:
		return chat.NewError(c, "err.provider.transient", "%s is out of order for the moment (%s). Try again in a few minutes.", name, said)
	}
	return chat.NewError(c, "err.provider.bad_request", "%s does not accept the request (%s). Try another model; if it stays, start a new session and report it.", name, said)
}

func (f Failure) model() string {
	if f.Model == "" {
		return f.Provider
	}
	return f.Provider + "/" + f.Model
}

// said is the vendor's own account, without secrets and capped.
func (f Failure) said() string {
	s := Redact(strings.Join(strings.Fields(Sanitize(f.Message)), " "))
	if s == "" {
		s = f.Code
	}
	if s == "" {
		s = f.Type
	}
	if len(s) > maxVendorText {
		s = s[:maxVendorText]
		for !utf8.ValidString(s) {
			s = s[:len(s)-1]
		}
		s += "…"
	}
	switch {
	case f.Status == 0 && s == "":
		return "no reason given"
	case f.Status == 0:
		return s
	case s == "":
		return fmt.Sprintf("status %d %s", f.Status, http.StatusText(f.Status))
	}
	return fmt.Sprintf("status %d: %s", f.Status, s)
}
