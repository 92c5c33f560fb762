package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/client-go/rest"

	"fairlead.dev/test/fleet"
)

// Memory is calm when it changes by less than calmBytes as often as it is looked at.
const (
	calmLooks = 3
	calmBytes = 1 * mB
)

// profiled is a program that tells its profiles.
type profiled struct {
	name, at string
	client   *http.Client
}

// programs are the hub and its API server.
func (s *system) programs() (hub, api profiled, err error) {
	c, err := rest.HTTPClientFor(s.hub)
	if err != nil {
		return hub, api, fmt.Errorf("making a client: %w", err)
	}
	socket := filepath.Join(s.fleet.Dir, fleet.HubName, "profiling.sock")
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}
	hub = profiled{"hub", "http://hub", &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}}
	return hub, profiled{"apiserver", s.hub.Host, c}, nil
}

// live is how many bytes of the hub and of its API server are in use once garbage was collected. How much they have of the machine
// besides depends on what they did before.
func (s *system) live(ctx context.Context) (hub, api float64, err error) {
	theHub, theAPI, err := s.programs()
	if err != nil {
		return 0, 0, err
	}
	if hub, err = theHub.live(ctx); err != nil {
		return 0, 0, err
	}
	api, err = theAPI.live(ctx)
	return hub, api, err
}

// calm waits until that has stopped changing: it is a while until the API server has let go of agents that left.
func (s *system) calm(ctx context.Context) (hub, api float64, err error) {
	if hub, api, err = s.live(ctx); err != nil {
		return 0, 0, err
	}
	for same := 0; same < calmLooks; {
		if err := pause(ctx, settle); err != nil {
			return 0, 0, err
		}
		nowHub, nowAPI, err := s.live(ctx)
		if err != nil {
			return 0, 0, err
		}
		if same++; math.Abs(nowHub+nowAPI-hub-api) > calmBytes {
			same = 0
		}
		hub, api = nowHub, nowAPI
	}
	return hub, api, nil
}

func (p profiled) live(ctx context.Context) (float64, error) {
	var told []byte
	for range 2 { // pools keep what they had once more
		var err error
		if told, err = p.ask(ctx, "heap?gc=1&debug=1"); err != nil {
			return 0, err
		}
	}
	total := 0.0
	for _, what := range []string{"HeapAlloc", "Stack"} {
		_, after, found := strings.Cut(string(told), "\n# "+what+" = ")
		n := 0.0
		if _, err := fmt.Sscan(after, &n); err != nil || !found {
			return 0, fmt.Errorf("the %s does not tell its %s", p.name, what)
		}
		total += n
	}
	return total, nil
}

// profiles writes what the hub and its API server have in memory to files, of which the name says when it was.
func (s *system) profiles(ctx context.Context, when string) error {
	if s.options.profiles == "" {
		return nil
	}
	if err := os.MkdirAll(s.options.profiles, 0o750); err != nil {
		return fmt.Errorf("making a directory for profiles: %w", err)
	}
	hub, api, err := s.programs()
	if err != nil {
		return err
	}
	for _, p := range []profiled{hub, api} {
		for _, profile := range []string{"heap", "goroutine"} {
			told, err := p.ask(ctx, profile)
			if err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(s.options.profiles, p.name+"-"+when+"."+profile), told, 0o600); err != nil {
				return fmt.Errorf("writing a profile: %w", err)
			}
		}
	}
	return nil
}

func (p profiled) ask(ctx context.Context, profile string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.at+"/debug/pprof/"+profile, nil)
	if err != nil {
		return nil, err
	}
	response, err := p.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	told, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("the %s answers %s", p.name, response.Status)
	}
	return told, err
}
