package kubelet

import (
	"context"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

// written is a log whose lines were written some seconds after a time.
type written struct {
	t     *testing.T
	p     *pods
	log   string
	start time.Time
	url   string
}

func write(t *testing.T) *written {
	t.Helper()
	p, at := serve(t)
	c, err := p.container("shop/web", "web")
	if err != nil {
		t.Fatal(err)
	}
	w := &written{t: t, p: p, log: c.log, start: time.Date(2036, 5, 1, 12, 0, 0, 0, time.UTC), url: at.String() + "/containerLogs/shop/web/web"}
	return w
}

// append writes a line at a second, and reads the log then.
func (w *written) append(second int, text string) {
	w.t.Helper()
	log, err := os.OpenFile(w.log, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := log.WriteString(text); err != nil {
		w.t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		w.t.Fatal(err)
	}
	at := w.start.Add(time.Duration(second) * time.Second)
	if err := os.Chtimes(w.log, at, at); err != nil {
		w.t.Fatal(err)
	}
	w.get("")
}

func (w *written) get(query string) (string, int) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), waitTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, w.url+query, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return string(body), response.StatusCode
}

func TestLogOptions(t *testing.T) {
	t.Parallel()
	w := write(t)
	w.append(0, "a\nb\n")
	w.append(10, "c\n")
	w.append(20, "d")
	const first = "shop/web: container web started\n"
	tests := map[string]struct {
		query, want string
		code        int
	}{
		"everything":                        {"", first + "a\nb\nc\nd", 200},
		"since a time":                      {"?sinceTime=2036-05-01T12:00:05Z", "c\nd", 200},
		"since the time of a line":          {"?sinceTime=2036-05-01T12:00:10Z", "c\nd", 200},
		"since just after":                  {"?sinceTime=2036-05-01T12:00:10.5Z", "d", 200},
		"since a time that is to come":      {"?sinceTime=2040-01-01T00:00:00Z", "", 200},
		"since some seconds ago":            {"?sinceSeconds=100", first + "a\nb\nc\nd", 200},
		"the last lines":                    {"?tailLines=2", "c\nd", 200},
		"none of the last lines":            {"?tailLines=0", "", 200},
		"more than there are":               {"?tailLines=99", first + "a\nb\nc\nd", 200},
		"of the last lines those since":     {"?tailLines=3&sinceTime=2036-05-01T12:00:05Z", "c\nd", 200},
		"some bytes":                        {"?tailLines=4&limitBytes=3", "a\nb", 200},
		"some bytes that end with a line":   {"?tailLines=4&limitBytes=4", "a\nb\n", 200},
		"with times":                        {"?timestamps=true&tailLines=2", "2036-05-01T12:00:10.000000000Z c\n2036-05-01T12:00:20.000000000Z d", 200},
		"lines found at once differ":        {"?timestamps=true&tailLines=4&limitBytes=66", "2036-05-01T12:00:00.000000000Z a\n2036-05-01T12:00:00.000000002Z b\n", 200},
		"times count as bytes":              {"?timestamps=true&tailLines=1&limitBytes=10", "2036-05-01", 200},
		"their only stream":                 {"?stream=Stdout&tailLines=1", "d", 200},
		"the stream that they have not":     {"?stream=Stderr", "", 200},
		"no bool":                           {"?timestamps=perhaps", "", 400},
		"no time":                           {"?sinceTime=yesterday", "", 400},
		"no number":                         {"?tailLines=-1", "", 400},
		"no bytes":                          {"?limitBytes=0", "", 400},
		"two times":                         {"?sinceSeconds=1&sinceTime=2036-05-01T12:00:05Z", "", 400},
		"another stream":                    {"?stream=Both", "", 400},
		"the container before, that is not": {"?previous=true", "", 400},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, code := w.get(tc.query)
			if code != tc.code || code == http.StatusOK && got != tc.want {
				t.Errorf("got %d %q, want %d %q", code, got, tc.code, tc.want)
			}
		})
	}
}

// TestAFollowedLogResumesAfterItsLastLine: by the time of the last line that they have seen, also when the kubelet was killed.
func TestAFollowedLogResumesAfterItsLastLine(t *testing.T) {
	t.Parallel()
	w := write(t)
	w.append(0, "a\nb\n")
	before, _ := w.get("?timestamps=true")
	kept, err := os.OpenFile(w.p.timesOf(container{log: w.log}).path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := kept.WriteString("12 34"); err != nil { // killed while it was writing
		t.Fatal(err)
	}
	if err := kept.Close(); err != nil {
		t.Fatal(err)
	}
	w.p.times.Clear()
	w.append(1, "c\n")
	after, _ := w.get("?timestamps=true")
	if !strings.HasPrefix(after, before) || after == before {
		t.Fatalf("what was\n%s\nis\n%s", before, after)
	}
	w.p.times.Clear()
	if again, _ := w.get("?timestamps=true"); again != after {
		t.Errorf("what was\n%s\nis\n%s", after, again)
	}
}

// TestALogThatIsBegunAnew: a program may truncate its log.
func TestALogThatIsBegunAnew(t *testing.T) {
	t.Parallel()
	w := write(t)
	w.append(0, "a\nb\n")
	if err := os.Truncate(w.log, 0); err != nil {
		t.Fatal(err)
	}
	w.append(5, "c\n")
	if got, _ := w.get("?timestamps=true"); got != "2036-05-01T12:00:05.000000000Z c\n" {
		t.Errorf("got %q", got)
	}
}
