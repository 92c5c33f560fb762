package reachable

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"

	"github.com/gorilla/websocket"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// watch sends an event when the member's objects change.
func (s *Hub) watch(ctx context.Context, w http.ResponseWriter) {
	s.mu.Lock()
	moved := s.moved
	s.mu.Unlock()
	_ = http.NewResponseController(w).Flush()
	select {
	case <-ctx.Done():
		panic(http.ErrAbortHandler)
	case <-moved:
		_, _ = io.WriteString(w, `{"type":"MODIFIED"}`)
	}
}

// log writes the log of a pod, and follows it.
func (s *Hub) log(ctx context.Context, w http.ResponseWriter, r *http.Request, pod string) {
	_ = http.NewResponseController(w).Flush()
	for n := 0; ; {
		s.mu.Lock()
		lines, moved := s.logs[pod], s.moved
		gone := !slices.ContainsFunc(s.pods, func(p corev1.Pod) bool { return p.Name == pod })
		s.mu.Unlock()
		for ; n < len(lines); n++ {
			_, _ = io.WriteString(w, lines[n])
		}
		_ = http.NewResponseController(w).Flush()
		if gone || r.URL.Query().Get("follow") == "" {
			return
		}
		select {
		case <-ctx.Done():
			panic(http.ErrAbortHandler)
		case <-moved:
		}
	}
}

// exec echoes its input, and exits with status 7.
func (s *Hub) exec(w http.ResponseWriter, r *http.Request) {
	up := websocket.Upgrader{Subprotocols: []string{"v5.channel.k8s.io"}}
	conn, err := up.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	defer func() { _ = conn.Close() }()
	const stdin, stdout, status, end = 0, 1, 3, 255
	for {
		message := []byte{end}
		if r.URL.Query().Get("stdin") == "true" {
			if _, message, err = conn.ReadMessage(); err != nil || len(message) == 0 {
				return
			}
		}
		if message[0] == stdin {
			_ = conn.WriteMessage(websocket.BinaryMessage, append([]byte{stdout}, bytes.ToUpper(message[1:])...))
		}
		if message[0] == end {
			text, _ := json.Marshal(metav1.Status{ //nolint:errchkjson // strings encode
				Status: metav1.StatusFailure, Reason: "NonZeroExitCode", Message: "it ended", Details: &metav1.StatusDetails{
					Causes: []metav1.StatusCause{{Type: "ExitCode", Message: "7"}},
				}})
			_ = conn.WriteMessage(websocket.BinaryMessage, append([]byte{status}, text...))
			_ = conn.WriteMessage(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseNormalClosure, ""))
			return
		}
	}
}
