package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

// profileSeconds bounds a profile.
const profileSeconds = 300

// profileOf is the name of the profiles of a scene.
func profileOf(scene string, at size) string { return fmt.Sprintf("%s-%d", scene, at.bindings) }

// profile begins profiles of hub, API server and agents, if they are wanted. The returned function ends them.
func (s *system) profile(ctx context.Context, name string) (func(), error) {
	if s.profiles == "" || name == "" {
		return func() {}, nil
	}
	if err := os.MkdirAll(s.profiles, 0o755); err != nil {
		return nil, fmt.Errorf("making the directory of the profiles: %w", err)
	}
	toAPI, err := rest.HTTPClientFor(s.private)
	if err != nil {
		return nil, fmt.Errorf("reaching the API server: %w", err)
	}
	toHub := s.profilesOfHub()
	var running sync.WaitGroup
	running.Go(func() {
		if err := profileAgents(ctx, filepath.Join(s.profiles, name+"-agents.pprof"), time.Duration(s.profileLength())*time.Second); err != nil {
			progress("no profile of the agents: %v", err)
		}
	})
	for who, from := range map[string]struct {
		client *http.Client
		url    string
	}{hubProcess: {toHub, "http://hub"}, apiProcess: {toAPI, s.private.Host}} {
		running.Go(func() {
			path := filepath.Join(s.profiles, name+"-"+who+".pprof")
			if err := fetch(ctx, from.client, fmt.Sprintf("%s/debug/pprof/profile?seconds=%d", from.url, s.profileLength()), path); err != nil {
				progress("no profile of %s: %v", who, err)
			}
		})
	}
	return func() {
		running.Wait()
		path := filepath.Join(s.profiles, name+"-"+hubProcess+"-heap.pprof")
		if err := fetch(ctx, toHub, "http://hub/debug/pprof/heap?gc=1", path); err != nil {
			progress("no profile of what %s has in memory: %v", hubProcess, err)
		}
	}, nil
}

// profileAgents profiles this process, in which all agents are.
func profileAgents(ctx context.Context, path string, length time.Duration) error {
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := pprof.StartCPUProfile(out); err != nil {
		return errors.Join(fmt.Errorf("profiling this process: %w", err), out.Close(), os.Remove(path))
	}
	err = pause(ctx, length)
	pprof.StopCPUProfile()
	return errors.Join(err, out.Close())
}

// profilesOfHub is a client of the socket at which the hub tells its profiles.
func (s *system) profilesOfHub() *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", s.profilingSocket())
	}}}
}

// hubHeap is what lives in the heap of the hub, in bytes, after a search for garbage. How much more is resident is a matter of how long
// ago the last search was.
func (s *system) hubHeap(ctx context.Context) (float64, error) {
	var text bytes.Buffer
	if err := read(ctx, s.profilesOfHub(), "http://hub/debug/pprof/heap?gc=1&debug=1", &text); err != nil {
		return 0, fmt.Errorf("reading what lives in the hub's memory: %w", err)
	}
	_, after, found := strings.Cut(text.String(), "# HeapAlloc = ")
	line, _, _ := strings.Cut(after, "\n")
	live, err := strconv.ParseFloat(line, 64)
	if !found || err != nil {
		return 0, errors.New("reading what lives in the hub's memory: its profile does not say so")
	}
	return live, nil
}

// profileLength is for how long a scene is profiled.
func (s *system) profileLength() int { return min(profileSeconds, max(1, int(s.idle.Seconds()))) }

func fetch(ctx context.Context, c *http.Client, url, path string) error {
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := read(ctx, c, url, out); err != nil {
		return errors.Join(err, out.Close(), os.Remove(path))
	}
	return out.Close()
}

// read writes what is at a URL.
func read(ctx context.Context, c *http.Client, url string, out io.Writer) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	response, err := c.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, response.Status)
	}
	if _, err := io.Copy(out, response.Body); err != nil {
		return fmt.Errorf("reading a profile: %w", err)
	}
	return nil
}
