package providers_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"perch/chat"
	"perch/providers"
	"perch/providers/providertest"
)

func classOf(status int, body string) chat.Class {
	return providers.ParseFailure("v", "m", "h", status, http.Header{}, []byte(body), time.Time{}).Class()
}

func TestRecordedErrorsHaveTheRightClass(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(providertest.Shared(t, "wire"), "http_errors.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(strings.TrimSpace(string(data)), "\n")[1:] {
		f := strings.Split(line, "\t")
		status := map[string]int{"400": 400, "404": 404, "429": 429}[f[3]]
		want := chat.ClassBadRequest
		low := strings.ToLower(f[5])
		switch {
		case status == 429:
			want = chat.ClassRateLimit
		case status == 404, strings.Contains(low, "model_not_found"), strings.Contains(low, "model identifier is invalid"), strings.Contains(low, "supported models are"):
			want = chat.ClassUnknownModel
		}
		e := providers.ParseFailure("vendor", "the-model", "h", status, http.Header{}, []byte(f[5]), time.Time{}).Error()
		if e.Class != want {
			t.Errorf("line %d: %s, want %s: %s", i+2, e.Class, want, f[5])
		}
		if e.ID == "" || e.Status != status || !strings.Contains(e.Message, "vendor") || !strings.HasSuffix(e.Message, ".") {
			t.Errorf("line %d: %q", i+2, e.Message)
		}
	}
}

func TestFailuresHaveTheRightClass(t *testing.T) {
	for _, c := range []struct {
		status int
		body   string
		want   chat.Class
	}{
		// overflows, by vendor
		{400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 213462 tokens > 200000 maximum"}}`, chat.ClassOverflow},
		{400, "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000\"}}", chat.ClassOverflow},
		{413, `{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`, chat.ClassOverflow},
		{403, `{"error":{"type":"billing_error","message":"Extra usage is required for long context requests"}}`, chat.ClassOverflow},
		{400, `{"error":{"code":"context_length_exceeded","message":"This model's maximum context length is 128000 tokens. However, your messages resulted in 150000 tokens"}}`, chat.ClassOverflow},
		{400, `{"error":{"code":"context_length_exceeded","message":"Your input exceeds the context window of this model"}}`, chat.ClassOverflow},
		{400, `{"error":{"message":"litellm.ContextWindowExceededError: Context Window exceeded for given call"}}`, chat.ClassOverflow},
		{400, `{"error":{"message":"This exceeds the model's maximum context length of 4096"}}`, chat.ClassOverflow},
		{400, `[{"error":{"code":400,"message":"The input token count (1196265) exceeds the maximum number of tokens allowed (1048575)","status":"INVALID_ARGUMENT"}}]`, chat.ClassOverflow},
		{400, `{"code":"x","error":"This model's maximum prompt length is 131072 but the request contains 537812 tokens"}`, chat.ClassOverflow},
		{400, `{"error":{"message":"Please reduce the length of the messages or completion","type":"invalid_request_error"}}`, chat.ClassOverflow},
		{413, `{"error":{"message":"Please reduce the length of the messages or completion"}}`, chat.ClassOverflow},
		{400, `{"error":{"code":"invalid_request_error","message":"This model's maximum context length is 131072 tokens. However, you requested 133034 tokens (...)"}}`, chat.ClassOverflow},
		{400, `{"error":{"code":400,"message":"This endpoint's maximum context length is 8192 tokens. However, you requested about 9000 tokens"}}`, chat.ClassOverflow},
		{400, `{"error":{"message":"Input length 9000 exceeds the maximum allowed input length of 8000 tokens"}}`, chat.ClassOverflow},
		{400, `{"object":"error","message":"Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length","type":"invalid_request_error","code":"3051"}`, chat.ClassOverflow},
		{400, `{"message":"Input is too long for requested model"}`, chat.ClassOverflow},
		{400, `{"message":"The model returned the following errors: prompt is too long: 1 > 0"}`, chat.ClassOverflow},
		{400, `{"message":"too many total text bytes"}`, chat.ClassOverflow},
		{413, ``, chat.ClassOverflow},
		{400, `{"error":{"message":"prompt token count of 9 exceeds the limit of 8"}}`, chat.ClassOverflow},
		{413, `{"error":{"message":"failed to parse request"}}`, chat.ClassOverflow},
		{400, `{"error":{"code":400,"type":"exceed_context_size_error","message":"the request exceeds the available context size, try increasing it"}}`, chat.ClassOverflow},
		{400, `{"error":"The number of tokens to keep from the initial prompt is greater than the context length"}`, chat.ClassOverflow},
		{400, `{"error":"prompt too long; exceeded max context length by 12 tokens"}`, chat.ClassOverflow},
		{400, `{"error":{"message":"invalid params, context window exceeds limit"}}`, chat.ClassOverflow},
		{400, `{"error":{"code":"1261","message":"Prompt exceeds max length"}}`, chat.ClassOverflow},
		{400, `{"error":{"message":"tokens in request more than max tokens allowed"}}`, chat.ClassOverflow},
		// what looks like one and is none
		{429, `{"error":{"message":"Request too large for model on tokens per minute (TPM): Limit 30000, Requested 40000","code":"rate_limit_exceeded"}}`, chat.ClassRateLimit},
		{400, `{"message":"ThrottlingException: Too many tokens, please wait before trying again."}`, chat.ClassRateLimit},
		{400, `{"error":{"message":"max_tokens is too large: 200000. This model supports at most 16384 completion tokens"}}`, chat.ClassBadRequest},
		{400, `{"error":{"message":"max_tokens: 200000 > 64000, which is the maximum allowed number of output tokens"}}`, chat.ClassBadRequest},
		{413, `{"error":{"message":"Rate limit reached for tokens per minute"}}`, chat.ClassRateLimit},
		// the rest of the table
		{401, `{"error":{"message":"Incorrect API key provided: sk-abc","code":"invalid_api_key"}}`, chat.ClassAuth},
		{400, `{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}`, chat.ClassAuth},
		{402, `{"error":{"message":"Payment required"}}`, chat.ClassPayment},
		{402, `{"error":{"message":"Insufficient Balance"}}`, chat.ClassQuota},
		{403, `{"error":{"type":"permission_error","message":"no"}}`, chat.ClassPermission},
		{404, `{"error":"model \"x\" not found, try pulling it first"}`, chat.ClassUnknownModel},
		{429, `{"error":{"code":"insufficient_quota","message":"You exceeded your current quota, please check your plan and billing details"}}`, chat.ClassQuota},
		{429, `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"Resource exhausted, please try again later."}}`, chat.ClassRateLimit},
		{429, ``, chat.ClassRateLimit},
		{400, `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}`, chat.ClassQuota},
		{400, `{"error":{"code":"content_filter","message":"The response was filtered"}}`, chat.ClassRefusal},
		{408, ``, chat.ClassTransient}, {409, ``, chat.ClassTransient}, {425, ``, chat.ClassTransient},
		{500, `{"error":{"message":"x","type":"server_error"}}`, chat.ClassTransient}, {502, `<html><title>Bad gateway</title>`, chat.ClassTransient},
		{503, ``, chat.ClassTransient}, {529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, chat.ClassTransient},
		{418, ``, chat.ClassBadRequest}, {422, `{"detail":[{"msg":"field required"}]}`, chat.ClassBadRequest}, {302, ``, chat.ClassBadRequest},
		{400, `{"error":{"message":"x","type":"internal_error"}}`, chat.ClassBadRequest},
	} {
		if got := classOf(c.status, c.body); got != c.want {
			t.Errorf("%d %s: %s, want %s", c.status, c.body, got, c.want)
		}
	}
}

func TestErrorsInAStreamAreClassedLikeTheirStatus(t *testing.T) {
	for body, want := range map[string]chat.Class{
		`{"type":"overloaded_error","message":"Overloaded"}`:                           chat.ClassTransient,
		`{"code":502,"message":"Provider disconnected"}`:                               chat.ClassTransient,
		`{"code":429,"message":"slow down"}`:                                           chat.ClassRateLimit,
		`{"code":400,"message":"Token limit reached"}`:                                 chat.ClassOverflow,
		`{"type":"authentication_error","message":"bad"}`:                              chat.ClassAuth,
		`{"code":"server_error","message":"The server had an error"}`:                  chat.ClassTransient,
		`{"code":"rate_limit_exceeded","message":"Rate limit reached. Try in 1 s."}`:   chat.ClassRateLimit,
		`{"code":"context_length_exceeded","message":"Your input exceeds the window"}`: chat.ClassOverflow,
		`{"code":"insufficient_quota","message":"You exceeded your current quota"}`:    chat.ClassQuota,
		`"an error was encountered while running the model"`:                           chat.ClassBadRequest,
	} {
		if got := providers.ErrorEvent(json.RawMessage(body)).Class(); got != want {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
}

func TestWaitsAreReadInEveryForm(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	date := func(d time.Duration) string { return now.Add(d).Format(http.TimeFormat) }
	for _, c := range []struct {
		header map[string]string
		want   time.Duration
		ok     bool
	}{
		{map[string]string{}, 0, false},
		{map[string]string{"Retry-After": "3"}, 3 * time.Second, true},
		{map[string]string{"Retry-After": "0.5"}, 500 * time.Millisecond, true},
		{map[string]string{"Retry-After": " 7 "}, 7 * time.Second, true},
		{map[string]string{"Retry-After": "-5"}, 0, true},
		{map[string]string{"Retry-After": "0"}, 0, true},
		{map[string]string{"Retry-After-Ms": "250", "Retry-After": "9"}, 250 * time.Millisecond, true},
		{map[string]string{"Retry-After": date(30 * time.Second)}, 30 * time.Second, true},
		{map[string]string{"Retry-After": date(-30 * time.Second)}, 0, true},
		{map[string]string{"Retry-After": date(90 * time.Second), "Date": date(60 * time.Second)}, 30 * time.Second, true},
		{map[string]string{"Retry-After": now.Add(30 * time.Second).Format(time.RFC850)}, 30 * time.Second, true},
		{map[string]string{"Retry-After": now.Add(30 * time.Second).Format(time.ANSIC)}, 30 * time.Second, true},
		{map[string]string{"Retry-After": "soon"}, 0, false},
		{map[string]string{"Retry-After": "NaN"}, 0, false},
		{map[string]string{"Retry-After": "Inf"}, 0, false},
		{map[string]string{"Retry-After": "0x10"}, 0, false},
		{map[string]string{"Retry-After": "1e300"}, 365 * 24 * time.Hour, true},
		{map[string]string{"Retry-After-Ms": "soon", "Retry-After": "2"}, 2 * time.Second, true},
	} {
		h := http.Header{}
		for k, v := range c.header {
			h.Set(k, v)
		}
		if got, ok := providers.RetryAfter(h, now); got != c.want || ok != c.ok {
			t.Errorf("%v: %v %v, want %v %v", c.header, got, ok, c.want, c.ok)
		}
	}
}

func TestGeminisWaitIsInTheBody(t *testing.T) {
	e := providers.ParseFailure("g", "m", "h", 429, http.Header{}, []byte(`{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"m","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"37.5s"}]}}`), time.Time{}).Error()
	if !e.HasRetryAfter || e.RetryAfter != 37500*time.Millisecond || e.Class != chat.ClassRateLimit {
		t.Errorf("%+v", e)
	}
}

func TestGooglesPlaceholderIsReplacedByTheReason(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(providertest.Shared(t, "wire"), "gemini", "ve_failure_http_error.body"))
	if err != nil {
		t.Fatal(err)
	}
	e := providers.ParseFailure("g", "m", "h", 400, http.Header{}, data, time.Time{}).Error()
	if e.Class != chat.ClassPermission || !strings.Contains(e.Message, "User location is not supported") {
		t.Errorf("%+v", e)
	}
}

func TestAnErrorRepeatsNoKey(t *testing.T) {
	e := providers.ParseFailure("v", "m", "h", 401, http.Header{}, []byte(`{"error":{"message":"Incorrect API key provided: sk-proj-abcdefghijklmnop"}}`), time.Time{}).Error()
	if strings.Contains(e.Message, "abcdef") {
		t.Error(e.Message)
	}
}
