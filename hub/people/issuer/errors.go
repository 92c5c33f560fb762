package issuer

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"golang.org/x/oauth2"
)

// UnavailableError says that an issuer does not answer properly; it may later.
type UnavailableError struct {
	// Host is the name of the issuer.
	Host string
	err  error
}

func (e UnavailableError) Error() string {
	return fmt.Sprintf("the issuer %s gives no valid answer: %s", e.Host, short(e.err.Error()))
}

// Unwrap returns the cause.
func (e UnavailableError) Unwrap() error { return e.err }

// RefusedError says that an issuer refuses to sign somebody in, or that its answer is not valid.
type RefusedError struct{ err error }

func (e RefusedError) Error() string { return short(e.err.Error()) }

// Unwrap returns the cause.
func (e RefusedError) Unwrap() error { return e.err }

func refused(format string, args ...any) error { return RefusedError{fmt.Errorf(format, args...)} }

// explain classifies an error of the token endpoint. An error about the client, and not about the person, is for the operator of the hub to
// solve, and ends no session.
func (i *Issuer) explain(doing string, err error) error {
	if answer, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		code := answer.ErrorCode
		if code == "" {
			code = answer.Response.Status
		}
		if err = fmt.Errorf("%s: %s", doing, reason(code, answer.ErrorDescription)); code == "invalid_grant" {
			return RefusedError{err}
		}
		return UnavailableError{Host: i.Host(), err: err}
	}
	return UnavailableError{Host: i.Host(), err: fmt.Errorf("%s: %w", doing, err)}
}

// maxReason bounds the length, in bytes, of texts that others wrote.
const maxReason = 500

// reason returns the text of an error from the issuer, cut and printable, since anybody may have written it.
func reason(code, description string) string {
	text := code
	if description != "" {
		text += ": " + description
	}
	return fmt.Sprintf("%q", short(text))
}

// short cuts a text: libraries repeat whole answers in their errors.
func short(text string) string {
	if len(text) > maxReason {
		return strings.ToValidUTF8(text[:maxReason], "") + " …"
	}
	return text
}

// checkRedirect allows only safe redirects by the issuer. A redirected POST would give the code and the client's secret to another server,
// and a redirect to http:// would show the announcement to everybody on the way.
func checkRedirect(r *http.Request, via []*http.Request) error {
	switch {
	case via[0].Method != http.MethodGet:
		return fmt.Errorf("its token endpoint leads on to %s, and does not answer itself", r.URL.Host)
	case r.URL.Scheme != "https":
		return fmt.Errorf("it leads on to %s://%s, which is no https:// address", r.URL.Scheme, r.URL.Host)
	case len(via) > maxRedirects:
		return fmt.Errorf("it leads on more than %d times", maxRedirects)
	}
	return nil
}

// maxAnswer bounds the size of an issuer's answer in bytes.
const maxAnswer = 1 << 20

// bounded is a transport that turns server errors of an issuer into errors, and bounds the size of its answers.
type bounded struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := b.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode >= http.StatusInternalServerError {
		_ = answer.Body.Close() // the body is not used
		return nil, fmt.Errorf("it answers %s", answer.Status)
	}
	answer.Body = boundedBody{Reader: io.LimitReader(answer.Body, maxAnswer), Closer: answer.Body}
	return answer, nil
}

type boundedBody struct {
	io.Reader
	io.Closer
}
