package kubelet

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/client-go/util/exec"
	"k8s.io/utils/clock"

	"fairlead.dev/hub/machinery/controlplane/process"
)

const waitTimeout = time.Minute

// serve returns a kubelet with the pod shop/web, and its address.
func serve(t *testing.T) (*pods, *url.URL) {
	t.Helper()
	web := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Ports: []corev1.ContainerPort{
			{ContainerPort: 80}, {ContainerPort: 7, Name: echoPort},
		}}}},
	}
	p := &pods{dir: t.TempDir(), api: fake.NewClientset(web), clock: clock.RealClock{}, forker: process.NewForker()}
	server := httptest.NewServer(p.handler())
	t.Cleanup(server.Close)
	at, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	return p, at
}

// run executes a command in shop/web.
func run(t *testing.T, at *url.URL, o remotecommand.StreamOptions, command ...string) error {
	t.Helper()
	target := *at
	target.Path = "/exec/shop/web/web"
	query := url.Values{"command": command, "output": {"1"}}
	if o.Stdin != nil {
		query.Set("input", "1")
	}
	if o.Stderr != nil {
		query.Set("error", "1")
	}
	if o.Tty {
		query.Set("tty", "1")
	}
	target.RawQuery = query.Encode()
	executor, err := remotecommand.NewSPDYExecutor(&rest.Config{Host: at.Host}, http.MethodPost, &target)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	return executor.StreamWithContext(ctx, o)
}

func TestExec(t *testing.T) {
	t.Parallel()
	_, at := serve(t)

	t.Run("a program gets input, and its output and exit status arrive", func(t *testing.T) {
		t.Parallel()
		var out, diagnosis bytes.Buffer
		err := run(t, at, remotecommand.StreamOptions{Stdin: strings.NewReader("hello"), Stdout: &out, Stderr: &diagnosis},
			"sh", "-c", "cat; echo no >&2; exit 3")
		var exited exec.CodeExitError
		if !errors.As(err, &exited) || exited.Code != 3 {
			t.Errorf("error = %v, want exit status 3", err)
		}
		if out.String() != "hello" || diagnosis.String() != "no\n" {
			t.Errorf("output %q, diagnosis %q", out.String(), diagnosis.String())
		}
	})

	t.Run("a program that does not read its input ends all the same", func(t *testing.T) {
		t.Parallel()
		idle, forever := io.Pipe()
		defer func() { _ = forever.Close() }()
		var out bytes.Buffer
		if err := run(t, at, remotecommand.StreamOptions{Stdin: idle, Stdout: &out}, "echo", "done"); err != nil {
			t.Error(err)
		}
		if out.String() != "done\n" {
			t.Errorf("output %q", out.String())
		}
	})

	t.Run("a program that is not there is told as a shell would", func(t *testing.T) {
		t.Parallel()
		err := run(t, at, remotecommand.StreamOptions{Stdout: io.Discard}, "no-such-program")
		var exited exec.CodeExitError
		if !errors.As(err, &exited) || exited.Code != statusNotFound {
			t.Errorf("error = %v, want exit status %d", err, statusNotFound)
		}
	})

	t.Run("a terminal has the size of that of the user", func(t *testing.T) {
		t.Parallel()
		var out bytes.Buffer
		idle, forever := io.Pipe()
		defer func() { _ = forever.Close() }()
		err := run(t, at, remotecommand.StreamOptions{Stdin: idle, Stdout: &out, Tty: true, TerminalSizeQueue: &sizes{{Width: 91, Height: 17}}},
			"sh", "-c", `while [ "$(stty size)" != "17 91" ]; do sleep 0.02; done; stty size`)
		if err != nil {
			t.Error(err)
		}
		if !strings.Contains(out.String(), "17 91") {
			t.Errorf("output %q", out.String())
		}
	})
}

// sizes are the successive sizes of a terminal.
type sizes []remotecommand.TerminalSize

func (s *sizes) Next() *remotecommand.TerminalSize {
	if len(*s) == 0 {
		return nil
	}
	first := (*s)[0]
	*s = (*s)[1:]
	return &first
}

func TestLogs(t *testing.T) {
	t.Parallel()
	p, at := serve(t)
	c, err := p.container("shop/web", "web")
	if err != nil {
		t.Fatal(err)
	}
	get := func(ctx context.Context, query string) io.ReadCloser {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String()+"/containerLogs/shop/web/web"+query, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		return response.Body
	}

	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	followed := get(ctx, "?follow=true")
	defer func() { _ = followed.Close() }()
	if err := run(t, at, remotecommand.StreamOptions{Stdout: io.Discard}, "sh", "-c", `echo second >> "$LOG"`); err != nil {
		t.Fatal(err)
	}
	want := "shop/web: container web started\nsecond\n"
	got := make([]byte, len(want))
	if _, err := io.ReadFull(followed, got); err != nil || string(got) != want {
		t.Errorf("followed %q (%v), want %q", got, err, want)
	}

	tail := get(ctx, "?tailLines=1")
	defer func() { _ = tail.Close() }()
	if last, err := io.ReadAll(tail); err != nil || string(last) != "second\n" {
		t.Errorf("the last line is %q (%v)", last, err)
	}
	if written, err := os.ReadFile(c.log); err != nil || string(written) != want {
		t.Errorf("the log is %q (%v)", written, err)
	}
}

func TestPortForward(t *testing.T) {
	t.Parallel()
	_, at := serve(t)
	transport, upgrader, err := spdy.RoundTripperFor(&rest.Config{Host: at.Host})
	if err != nil {
		t.Fatal(err)
	}
	target := *at
	target.Path = "/portForward/shop/web"
	dialer := spdy.NewDialer(upgrader, &http.Client{Transport: transport}, http.MethodPost, &target)
	stop, ready := make(chan struct{}), make(chan struct{})
	forwarder, err := portforward.NewOnAddresses(dialer, []string{"127.0.0.1"}, []string{"0:80"}, stop, ready, io.Discard, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- forwarder.ForwardPorts() }()
	defer func() {
		close(stop)
		<-ended
	}()
	<-ready
	ports, err := forwarder.GetPorts()
	if err != nil {
		t.Fatal(err)
	}
	local := url.URL{Scheme: "http", Host: net.JoinHostPort("127.0.0.1", strconv.Itoa(int(ports[0].Local)))}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, local.String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Close = true
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if body, err := io.ReadAll(response.Body); err != nil || string(body) != "shop/web\n" {
		t.Errorf("the port answers %q (%v)", body, err)
	}
}

// slow is a stream with one request, whose writes are so slow that a server which does not wait for them is gone
// before.
type slow struct {
	asked io.Reader
	gone  chan struct{}
	late  bool
	got   bytes.Buffer
}

func (s *slow) Read(p []byte) (int, error) { return s.asked.Read(p) }

func (s *slow) Write(p []byte) (int, error) {
	select {
	case <-s.gone:
		s.late = true
	case <-time.After(100 * time.Millisecond):
	}
	return s.got.Write(p)
}

func (s *slow) Close() error { return nil }

func TestAPortAnswersBeforeItIsClosed(t *testing.T) {
	t.Parallel()
	p, _ := serve(t)
	// The request stream stays open, as that of a client that waits for the response.
	rest, more := io.Pipe()
	defer func() { _ = more.Close() }()
	s := &slow{asked: io.MultiReader(strings.NewReader("GET / HTTP/1.1\r\nHost: web\r\nConnection: close\r\n\r\n"), rest), gone: make(chan struct{})}
	err := p.PortForward(t.Context(), "shop/web", "", 80, s)
	close(s.gone)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(s.got.String(), "shop/web\n") || s.late {
		t.Errorf("the port was closed after it had answered %q", s.got.String())
	}
}

func TestAContainerStaysInItsDirectory(t *testing.T) {
	t.Parallel()
	p := &pods{dir: t.TempDir()}
	for _, pod := range []string{"../web", "shop/..", "shop/web/more"} {
		if _, err := p.container(pod, "web"); err == nil {
			t.Errorf("pod %q has a container", pod)
		}
	}
	if _, err := p.container("shop/web", ".."); err == nil {
		t.Error("a container is called ..")
	}
}
