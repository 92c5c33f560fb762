package meter

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"k8s.io/client-go/rest"
)

// Profiled is a program that serves its profiles.
type Profiled struct {
	client *http.Client
	url    string
}

// ProfiledHub returns a hub started with --profiling, by its socket. Connections are not kept open, because they would
// add to the hub's memory that is measured.
func ProfiledHub(socket string) Profiled {
	return Profiled{url: "http://hub", client: &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", socket)
		},
	}}}
}

// ProfiledAPI returns an API server; config must be authorized to read its profiles.
func ProfiledAPI(config *rest.Config) (Profiled, error) {
	c, err := rest.HTTPClientFor(config)
	if err != nil {
		return Profiled{}, fmt.Errorf("making a client: %w", err)
	}
	return Profiled{client: c, url: config.Host}, nil
}

// Ask returns a profile, such as "heap?gc=1".
func (p Profiled) Ask(ctx context.Context, what string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+"/debug/pprof/"+what, http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := p.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s", request.URL, response.Status)
	}
	return io.ReadAll(response.Body)
}

// Live is the memory in use, in bytes.
type Live struct{ Heap, Stacks float64 }

// Live returns the memory in use after a garbage collection. Resident memory depends on when the last one was.
func (p Profiled) Live(ctx context.Context) (Live, error) {
	var out Live
	text, err := p.Ask(ctx, "heap?gc=1&debug=1")
	if err != nil {
		return out, fmt.Errorf("reading what lives in memory: %w", err)
	}
	for name, figure := range map[string]*float64{"HeapAlloc": &out.Heap, "Stack": &out.Stacks} {
		_, after, found := strings.Cut(string(text), "\n# "+name+" = ")
		if _, err := fmt.Sscan(after, figure); err != nil || !found {
			return out, fmt.Errorf("reading what lives in memory: the profile does not tell its %s", name)
		}
	}
	return out, nil
}

// Recording is a CPU profile of a program over some period.
type Recording struct {
	cancel context.CancelFunc
	ended  chan struct{}
	// sum and err may be read after the end of the recording.
	sum *profile.Profile
	err error
}

// round is the duration of one CPU profile, which must be requested in advance: Stop waits for the end of the current
// one.
const round = 5 * time.Second

// Record starts a recording, of successive rounds.
func (p Profiled) Record(ctx context.Context) *Recording {
	r := &Recording{ended: make(chan struct{})}
	// Stop waits for the current round, whose profile would be lost otherwise.
	more, cancel := context.WithCancel(ctx)
	r.cancel = cancel
	go func() {
		defer close(r.ended)
		for {
			data, err := p.Ask(ctx, fmt.Sprintf("profile?seconds=%d", int(round.Seconds())))
			if err != nil {
				r.err = err
				return
			}
			if r.err = r.add(data); r.err != nil || more.Err() != nil {
				return
			}
		}
	}()
	return r
}

func (r *Recording) add(data []byte) error {
	next, err := profile.Parse(bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("reading a profile: %w", err)
	}
	if r.sum == nil {
		r.sum = next
		return nil
	}
	sum, err := profile.Merge([]*profile.Profile{r.sum, next})
	if err != nil {
		return fmt.Errorf("adding up profiles: %w", err)
	}
	r.sum = sum
	return nil
}

// Stop ends the recording and returns the profile. If the program exited, it covers the complete rounds.
func (r *Recording) Stop() (*profile.Profile, error) {
	r.cancel()
	<-r.ended
	if r.sum == nil {
		return nil, r.err
	}
	return r.sum, nil
}

// WriteProfile writes a profile to a file.
func WriteProfile(path string, p *profile.Profile) error {
	out, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("writing a profile: %w", err)
	}
	if err := errors.Join(p.Write(out), out.Close()); err != nil {
		return fmt.Errorf("writing a profile: %w", err)
	}
	return nil
}
