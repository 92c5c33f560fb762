package issuer

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"golang.org/x/oauth2"
)

// UnavailableError says that an issuer does not answer as one. It may later.
type UnavailableError struct {
	// Host is the name of the issuer.
	Host string
	err  error
}

func (e UnavailableError) Error() string {
	return fmt.Sprintf("the issuer %s does not answer as it should: %v", e.Host, e.err)
}

// Unwrap returns why.
func (e UnavailableError) Unwrap() error { return e.err }

// RefusedError says that an issuer, or what is known of it, does not let somebody in.
type RefusedError struct{ err error }

func (e RefusedError) Error() string { return e.err.Error() }

// Unwrap returns why.
func (e RefusedError) Unwrap() error { return e.err }

func refused(format string, args ...any) error { return RefusedError{fmt.Errorf(format, args...)} }

// explain sorts what went wrong with a request to the token endpoint. What it says of the client, and not of the
// person, is for whoever runs the hub to mend, and ends no session.
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

// maxReason bounds what is repeated of what others wrote.
const maxReason = 300

// reason is what the issuer, or who pretends to be it, says of an error.
func reason(code, description string) string {
	text := code
	if description != "" {
		text += ": " + description
	}
	if len(text) > maxReason {
		text = text[:maxReason] + " …"
	}
	return fmt.Sprintf("%q", text)
}

// isNetwork says whether an answer could not be had.
func isNetwork(err error) bool {
	var network *url.Error
	return errors.As(err, &network)
}

// maxAnswer bounds what an issuer may answer.
const maxAnswer = 1 << 20

// bounded makes an error of an issuer that is out of order, and bounds what it answers.
type bounded struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := b.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode >= http.StatusInternalServerError {
		_ = answer.Body.Close() // nothing of it is used
		return nil, fmt.Errorf("it answers %s", answer.Status)
	}
	answer.Body = boundedBody{Reader: io.LimitReader(answer.Body, maxAnswer), Closer: answer.Body}
	return answer, nil
}

type boundedBody struct {
	io.Reader
	io.Closer
}
