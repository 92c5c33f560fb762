package dashboard

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"fairlead.dev/common/prose"
	"fairlead.dev/hub/people/pods"
)

// logView is the data of the page of logs.
type logView struct {
	// Stream is the address of the text, and Of describes it.
	Stream, Of string
	Previous   string
	Follow     bool
	// Path is the target of the form, and Hidden are its hidden fields.
	Path    string
	Hidden  map[string]string
	Tail    string
	Choices []choice
}

// Limits of the logs on a page.
const (
	tailByDefault = 100
	maxTail       = 10000
	// flushEvery is how long a line may be buffered, and textTimeout how long a browser may not read.
	flushEvery  = 200 * time.Millisecond
	textTimeout = 20 * time.Second
)

// logsPage shows the logs of an application or of one of its pods. The page's script reads them from the stream.
func (s *Server) logsPage(ctx context.Context, v *visit) (*page, error) {
	a, err := s.readApplication(ctx, v)
	if err != nil {
		return nil, err
	}
	cluster, pod := v.text("cluster"), v.text("pod")
	if _, err := placesOf(a, cluster); err != nil {
		return nil, err
	}
	query := url.Values{}
	data := logView{Path: appPath(a.Namespace, a.Binding) + "/logs", Hidden: map[string]string{}, Of: "all of its clusters", Tail: strconv.FormatInt(tailOf(v), 10)}
	for _, key := range []string{"cluster", "pod", "container"} {
		if value := v.text(key); value != "" {
			query.Set(key, value)
			data.Hidden[key] = value
		}
	}
	switch {
	case pod != "":
		data.Of = pod + " in " + cluster
	case cluster != "":
		data.Of = "cluster " + cluster
	}
	for _, lines := range []int64{tailByDefault, 1000, maxTail} {
		text := strconv.FormatInt(lines, 10)
		data.Choices = append(data.Choices, choice{Value: text, Text: "last " + text + " lines", Chosen: text == data.Tail})
	}
	query.Set("tail", data.Tail)
	data.Follow = v.text("follow") != "no"
	if data.Follow {
		query.Set("follow", "yes")
	}
	data.Stream = data.Path + "/stream?" + query.Encode()
	p := podPage(a, "Logs")
	p.heading.Actions = []link{{Text: "Pods", To: podPath(a, "pods", cluster, "", "")}}
	p.fragments = []fragment{{id: "logs", template: "logs", data: data, still: true}}
	return p, nil
}

func tailOf(v *visit) int64 {
	n, err := strconv.ParseInt(v.query.Get("tail"), 10, 64)
	if err != nil || n < 1 {
		return tailByDefault
	}
	return min(n, maxTail)
}

// enterPodStream counts one more open log or terminal until leave is called. If the person or all together have too
// many, it writes the error response and returns false.
func (s *Server) enterPodStream(w http.ResponseWriter, v *visit) (leave func(), ok bool) {
	if leave, ok = s.podStreams.Acquire(v.user); !ok {
		http.Error(w, "Too many logs and terminals are open.", http.StatusTooManyRequests)
	}
	return leave, ok
}

// streamLogs streams logs as text, with the rights of the person, until their session ends.
func (s *Server) streamLogs(w http.ResponseWriter, r *http.Request, v *visit) {
	logs, clusters, err := s.logsOf(r.Context(), v)
	if err != nil {
		s.serveError(w, r, v, err)
		return
	}
	leave, ok := s.enterPodStream(w, v)
	if !ok {
		return
	}
	defer leave()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Accel-Buffering", "no") // proxies must not buffer
	out := &textStream{w: w, control: http.NewResponseController(w), server: s}
	lines := make(chan string) // unbuffered, so that no more is read than the browser takes
	logs.Line = func(line pods.LogLine) error {
		text := "[" + line.Cluster + "/" + line.Pod
		if !line.Only {
			text += "/" + line.Container
		}
		return sendText(ctx, lines, text+"] "+string(line.Text))
	}
	logs.Say = func(cluster, text string) { _ = sendText(ctx, lines, "# "+cluster+": "+text) } // an error means that the stream has ended
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = logs.Run(ctx, clusters) // errors were reported by Say
	}()
	out.run(ctx, lines, done, func() bool { return s.signIn.Alive(r.Context(), v.session) })
	cancel()
	<-done
}

func sendText(ctx context.Context, to chan<- string, text string) error {
	select {
	case to <- text:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// logsOf returns which logs a person requests, and of which clusters.
func (s *Server) logsOf(ctx context.Context, v *visit) (*pods.Logs, []string, error) {
	a, err := s.readApplication(ctx, v)
	if err != nil {
		return nil, nil, err
	}
	app, err := s.workload(a)
	if err != nil {
		return nil, nil, err
	}
	pod, cluster := v.text("pod"), v.text("cluster")
	if pod != "" {
		if !isName(pod) || cluster == "" {
			return nil, nil, notFoundError{"No object in a member can have this name."}
		}
		app = pods.Application{Resource: corev1.SchemeGroupVersion.WithResource("pods"), Kind: "Pod", Namespace: a.Namespace, Name: pod}
	}
	clusters, err := placesOf(a, cluster)
	if err != nil {
		return nil, nil, err
	}
	members, err := membersOf(v)
	if err != nil {
		return nil, nil, err
	}
	tail := tailOf(v)
	var places func(context.Context) ([]string, error)
	if cluster == "" {
		places = func(ctx context.Context) ([]string, error) {
			now, err := s.readApplication(ctx, v)
			if err != nil {
				return nil, err
			}
			return now.Everywhere(), nil
		}
	}
	return &pods.Logs{
		Members: members, App: app, Clock: s.clock, Places: places,
		Options: pods.LogOptions{Container: v.text("container"), Follow: v.text("follow") == "yes", Tail: &tail},
	}, slices.Clone(clusters), nil
}

// textStream sends lines to a browser, and batches them if they come fast.
type textStream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	server  *Server
}

// run sends lines until there are no more, the browser disconnects, or its session ends.
func (t *textStream) run(ctx context.Context, lines <-chan string, done <-chan struct{}, alive func() bool) {
	_ = t.control.SetReadDeadline(time.Time{}) // a stream lasts longer than a request, and reads nothing more
	if !t.flush() {
		return
	}
	ticker := t.server.clock.NewTicker(flushEvery)
	defer ticker.Stop()
	waiting := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-done:
			t.flush()
			return
		case line := <-lines:
			if !t.write(line) {
				return
			}
			waiting = true
		case <-ticker.C():
			if !alive() {
				t.write("# You are not signed in any more.")
				return
			}
			if waiting && !t.flush() {
				return
			}
			waiting = false
		}
	}
}

// write sends a line within a time limit. Between lines there is none: logs may be silent.
func (t *textStream) write(line string) bool {
	return t.bounded(func() error {
		_, err := io.WriteString(t.w, prose.Printable(line)+"\n")
		return err
	})
}

func (t *textStream) flush() bool { return t.bounded(t.control.Flush) }

func (t *textStream) bounded(send func() error) bool {
	if t.control.SetWriteDeadline(t.server.clock.Now().Add(textTimeout)) != nil || send() != nil {
		return false
	}
	return t.control.SetWriteDeadline(time.Time{}) == nil
}
