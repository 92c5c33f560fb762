package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"fairlead.dev/test/bench/meter"
	"fairlead.dev/test/fleet"
	"fairlead.dev/test/fleet/hollow"
)

// Processes that are looked at.
const (
	hubProcess = "hub"
	apiProcess = "kube-apiserver"
	dbProcess  = "etcd"
)

// moment is what was used until some time.
type moment struct {
	at       time.Time
	cpu      map[string]float64
	resident map[string]int64
	// hubRead and hubWritten are bytes that the hub's process has read and written, nearly all of
	// them from and to its API.
	hubRead, hubWritten int64
	server              meter.Server
	traffic             hollow.Traffic
}

// now looks at everything.
func (s *system) now(ctx context.Context) (moment, error) {
	m := moment{at: time.Now(), cpu: map[string]float64{}, resident: map[string]int64{}, traffic: s.agents.Traffic()}
	pids, err := s.processes()
	if err != nil {
		return m, err
	}
	for name, pid := range pids {
		if m.cpu[name], err = meter.CPUSeconds(pid); err != nil {
			return m, fmt.Errorf("reading what %q uses: %w", name, err)
		}
		if m.resident[name], err = meter.ResidentBytes(pid); err != nil {
			return m, fmt.Errorf("reading what %q uses: %w", name, err)
		}
	}
	if m.hubRead, m.hubWritten, err = bytesOf(pids[hubProcess]); err != nil {
		return m, err
	}
	m.server, err = meter.ReadServer(ctx, fleet.HubName, s.private)
	return m, err
}

// processes are the hub and the parts of its API.
func (s *system) processes() (map[string]int, error) {
	pid, err := s.fleet.PID(fleet.HubName)
	if err != nil || pid == 0 {
		return nil, fmt.Errorf("finding the hub: it is not running (%w)", err)
	}
	out := map[string]int{hubProcess: pid}
	tree, err := meter.ReadTree()
	if err != nil {
		return nil, err
	}
	for _, child := range tree.Below(pid) {
		switch component := child.Component(); component {
		case apiProcess, dbProcess:
			out[component] = child.PID
		}
	}
	return out, nil
}

// bytesOf is what a process has read and written, of files and sockets.
func bytesOf(pid int) (read, written int64, err error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", pid))
	if err != nil {
		return 0, 0, fmt.Errorf("reading what the hub exchanges: %w", err)
	}
	lines := bufio.NewScanner(bytes.NewReader(data))
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			continue
		}
		switch name {
		case "rchar":
			read = n
		case "wchar":
			written = n
		}
	}
	return read, written, nil
}

// used is the difference between two moments.
type used struct {
	seconds                              float64
	cpu                                  map[string]float64
	requests                             map[string]float64
	conflicts, refused                   float64
	hubRead, hubWritten                  float64
	agents                               map[string]float64
	agentsSent, agentsReceived           float64
	agentsAsked, agentsConnected         float64
	agentsConflicts, agentsWereTurnedOff float64
}

func since(a, b moment) used {
	out := used{
		seconds: b.at.Sub(a.at).Seconds(), cpu: map[string]float64{}, requests: map[string]float64{}, agents: map[string]float64{},
		conflicts: b.server.Conflicts - a.server.Conflicts, refused: b.server.Refused - a.server.Refused,
		hubRead: float64(b.hubRead - a.hubRead), hubWritten: float64(b.hubWritten - a.hubWritten),
		agentsSent: float64(b.traffic.Sent - a.traffic.Sent), agentsReceived: float64(b.traffic.Received - a.traffic.Received),
		agentsAsked: float64(b.traffic.Asked - a.traffic.Asked), agentsConnected: float64(b.traffic.Connections - a.traffic.Connections),
		agentsConflicts: float64(b.traffic.Conflicts - a.traffic.Conflicts), agentsWereTurnedOff: float64(b.traffic.Refused - a.traffic.Refused),
	}
	for name, cpu := range b.cpu {
		out.cpu[name] = cpu - a.cpu[name]
	}
	for key, n := range b.server.Requests {
		if n -= a.server.Requests[key]; n > 0 {
			out.requests[key] = n
		}
	}
	for key, n := range b.traffic.Requests {
		if n -= a.traffic.Requests[key]; n > 0 {
			out.agents[key] = float64(n)
		}
	}
	return out
}

// writes counts what was written beside heartbeats and events.
func (u used) writes() float64 {
	var n float64
	for key, count := range u.requests {
		if isWrite(key) {
			n += count
		}
	}
	return n
}

// isWrite says whether a request writes, heartbeats and events left aside.
func isWrite(key string) bool {
	verb, resource, _ := strings.Cut(key, " ")
	switch verb {
	case "POST", "PUT", "PATCH", "APPLY", "DELETE", "DELETECOLLECTION":
		return resource != "leases" && resource != "events" && !strings.HasPrefix(resource, "subjectaccessreviews")
	}
	return false
}

// concernsApplications says whether a request is about applications.
func concernsApplications(key string) bool {
	switch resourceOf(key) {
	case "works", "resourcebindings", "clusterresourcebindings", "deployments":
		return true
	}
	return false
}

// awaitQuiet returns the last moment at which something happened: afterwards nothing was written, and
// no template read, for two looks.
func (s *system) awaitQuiet(ctx context.Context) (moment, error) {
	last, err := s.now(ctx)
	if err != nil {
		return last, err
	}
	const look, calm = time.Second, 3
	for began, quiet, before := time.Now(), 0, last; quiet < calm; {
		if time.Since(began) > waitTimeout {
			return last, fmt.Errorf("it is not quiet after %s", waitTimeout)
		}
		if err := pause(ctx, look); err != nil {
			return last, err
		}
		now, err := s.now(ctx)
		if err != nil {
			return last, err
		}
		u := since(before, now)
		if u.writes() == 0 && u.requests["GET deployments"] == 0 && u.cpu[hubProcess] < busy*u.seconds+noise {
			quiet++
		} else {
			quiet, last = 0, now
		}
		before = now
	}
	return last, nil
}

const (
	waitTimeout = 30 * time.Minute
	// busy is from which part of a core on the hub does more than its heartbeats.
	busy = 0.5
	// noise is how exactly processor time is told.
	noise = 0.05
)
