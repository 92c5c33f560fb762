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

// post sends a question and returns the answer, all within the time-out; it says whether that was over. What an answer that
// is none says is in no error: it may be about a Secret, or from an address that only this
// process reaches.
func (h *hook) post(ctx context.Context, body []byte) (reply []byte, timedOut bool, err error) {
	asking, cancel := context.WithTimeout(ctx, h.timeout)
	defer cancel()
	target := *h.url
	query := target.Query() // which a url may have of its own
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
	defer func() { _ = response.Body.Close() }() // all that matters was read
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

// unanswered says why there is no answer: it took too long, or there is no connection. It
// does not say the address, which may have a secret in its query.
func (h *hook) unanswered(ctx, asking context.Context, err error) (timedOut bool, why error) {
	if of := (*url.Error)(nil); errors.As(err, &of) {
		err = of.Err
	}
	if ctx.Err() == nil && errors.Is(asking.Err(), context.DeadlineExceeded) {
		return true, interpreter.Unanswered(fmt.Errorf("no answer within %s; check that it runs, or set a longer timeoutSeconds: %w", h.timeout, err))
	}
	return false, interpreter.Unanswered(fmt.Errorf("no answer; check its address and its certificate in clientConfig: %w", err))
}
