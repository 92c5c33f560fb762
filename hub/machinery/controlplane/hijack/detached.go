package hijack

import (
	"bufio"
	"net"
	"net/http"
	"runtime/debug"

	"k8s.io/klog/v2"
)

// serveDetached runs next in its own goroutine, and returns when next has taken the connection over or has responded.
// Once it has taken the connection, next must not use the request or its context, which can then be freed.
func serveDetached(next http.Handler, w http.ResponseWriter, req *http.Request) {
	ctx := newForgettableContext(req.Context())
	own := &takeoverWriter{to: w, forget: ctx.forget, taken: make(chan struct{})}
	ended := make(chan any, 1)
	go func() {
		defer func() {
			crash := recover()
			if crash != nil && own.isTaken() { // nobody waits for it any more
				klog.ErrorS(nil, "Panic while forwarding an upgraded connection", "panic", crash, "stack", string(debug.Stack()))
			}
			ended <- crash
		}()
		next.ServeHTTP(own, req.WithContext(ctx))
	}()
	select {
	case <-own.taken:
	case crash := <-ended:
		if crash != nil && !own.isTaken() {
			panic(crash) // let the server handle it
		}
	}
}

// takeoverWriter is a ResponseWriter that drops its target when the connection is taken over. It is not safe for
// concurrent use.
type takeoverWriter struct {
	to     http.ResponseWriter
	forget func()
	taken  chan struct{} // closed when it is taken over
}

func (t *takeoverWriter) isTaken() bool {
	select {
	case <-t.taken:
		return true
	default:
		return false
	}
}

// Header implements http.ResponseWriter.
func (t *takeoverWriter) Header() http.Header {
	if t.isTaken() {
		return http.Header{}
	}
	return t.to.Header()
}

// Write implements http.ResponseWriter.
func (t *takeoverWriter) Write(p []byte) (int, error) {
	if t.isTaken() {
		return 0, http.ErrHijacked
	}
	return t.to.Write(p)
}

// WriteHeader implements http.ResponseWriter.
func (t *takeoverWriter) WriteHeader(code int) {
	if !t.isTaken() {
		t.to.WriteHeader(code)
	}
}

// Hijack implements http.Hijacker.
func (t *takeoverWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	if t.isTaken() {
		return nil, nil, http.ErrHijacked
	}
	c, buffered, err := writer{t.to}.Hijack()
	if err != nil {
		return nil, nil, err
	}
	t.to = nil
	t.forget()
	close(t.taken)
	return c, buffered, nil
}
