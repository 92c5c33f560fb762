package line

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync"

	"fairlead.dev/common/contract"
)

// upgrade sends an upgrade request for which a place is reserved.
func (c *Client) upgrade(req *http.Request, protocol string) (*http.Response, error) {
	if req.Body != nil && req.Body != http.NoBody && req.ContentLength != 0 {
		c.http.Release()
		_ = req.Body.Close() // required of a RoundTripper; nothing was sent
		return nil, errors.New("line: a request that upgrades cannot have a body")
	}
	ctx, cancel := context.WithCancel(req.Context())
	body, send := io.Pipe()
	out := prepared(ctx, req)
	out.Method, out.Body, out.ContentLength, out.GetBody = http.MethodPost, body, -1, nil
	out.Header.Set(contract.LineMethodHeader, req.Method)
	out.Header.Set(contract.LineUpgradeHeader, protocol)

	resp, err := c.http.RoundTrip(out)
	if err != nil {
		cancel()
		return nil, err
	}
	resp.Request = req
	status, agreed := resp.Header.Get(contract.LineStatusHeader), resp.Header.Get(contract.LineUpgradeHeader)
	resp.Header.Del(contract.LineStatusHeader)
	resp.Header.Del(contract.LineUpgradeHeader)
	if resp.StatusCode != http.StatusOK || status != strconv.Itoa(http.StatusSwitchingProtocols) {
		_ = send.Close() // it never fails
		resp.Body = &answer{ReadCloser: resp.Body, cancel: cancel}
		return resp, nil
	}
	resp.StatusCode, resp.Status = http.StatusSwitchingProtocols, "101 Switching Protocols"
	resp.Proto, resp.ProtoMajor, resp.ProtoMinor = "HTTP/1.1", 1, 1
	resp.ContentLength = 0
	resp.Header.Set("Connection", "Upgrade")
	resp.Header.Set("Upgrade", agreed)
	resp.Body = &stream{chunkReader: chunkReader{from: resp.Body}, chunkWriter: chunkWriter{to: send}, body: resp.Body, send: send, cancel: cancel}
	return resp, nil
}

// answer is the body of an ordinary answer to an upgrade request.
type answer struct {
	io.ReadCloser
	cancel context.CancelFunc
}

// Close implements io.Closer.
func (a *answer) Close() error {
	defer a.cancel()
	return a.ReadCloser.Close()
}

// stream is an upgraded connection at the hub. Read, Write, CloseWrite and Close may be called concurrently.
type stream struct {
	chunkReader
	chunkWriter
	body   io.Closer
	send   *io.PipeWriter
	cancel context.CancelFunc
	once   sync.Once
}

// Close ends the stream in both directions.
func (s *stream) Close() error {
	s.once.Do(func() {
		s.cancel() // also interrupts a pending write
		_ = s.send.CloseWithError(io.ErrClosedPipe)
		_ = s.body.Close()
	})
	return nil
}
