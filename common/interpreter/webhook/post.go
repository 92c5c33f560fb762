package webhook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"fairlead.dev/common/interpreter"
)

// post sends a question and returns the answer, within the timeout; timedOut says whether that expired. Errors do not
// quote an invalid answer: it may contain a Secret, or come from an address that only this process can reach.
func (h *hook) post(ctx context.Context, body []byte) (reply []byte, timedOut bool, err error) {
	asking, cancel := context.WithTimeout(ctx, h.timeout)
	defer cancel()
	target := *h.url
	query := target.Query() // a URL may have a query of its own
	query.Set("timeout", fmt.Sprintf("%ds", int(h.timeout.Seconds())))
	target.RawQuery = query.Encode()
	request, err := http.NewRequestWithContext(asking, http.MethodPost, target.String(), bytes.NewReader(body))
	if err != nil {
		return nil, false, fmt.Errorf("making the request: %w", err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	response, err := h.http.Do(request)
	if err != nil {
		timedOut, err = h.unanswered(ctx, asking, err)
		return nil, timedOut, err
	}
	defer func() { _ = response.Body.Close() }() // everything relevant was read
	reply, err = io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	switch {
	case response.StatusCode >= 300 && response.StatusCode < 400:
		return nil, false, fmt.Errorf("it redirects (%s), which is not followed; configure the address that it redirects to", response.Status)
	case response.StatusCode != http.StatusOK:
		return nil, false, fmt.Errorf("it answered %s; see its own log", response.Status)
	case err != nil:
		timedOut, err = h.unanswered(ctx, asking, err)
		return nil, timedOut, err
	case len(reply) > maxAnswer:
		return nil, false, fmt.Errorf("its answer is larger than %d bytes", maxAnswer)
	}
	return reply, false, nil
}

// unanswered explains a missing answer: a timeout or a failed connection. It does not contain the address, whose
// query may contain a secret.
func (h *hook) unanswered(ctx, asking context.Context, err error) (timedOut bool, why error) {
	if of := (*url.Error)(nil); errors.As(err, &of) {
		err = of.Err
	}
	if ctx.Err() == nil && errors.Is(asking.Err(), context.DeadlineExceeded) {
		return true, interpreter.Unanswered(fmt.Errorf("no answer within %s; check that it runs, or set a longer timeoutSeconds: %w", h.timeout, err))
	}
	return false, interpreter.Unanswered(fmt.Errorf("no answer; check its address and its certificate in clientConfig: %w", err))
}
