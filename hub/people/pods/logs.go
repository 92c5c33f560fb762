package pods

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"k8s.io/utils/clock"

	"fairlead.dev/hub/people/pods/loglines"
	"fairlead.dev/hub/people/pods/owned"
)

// LogOptions select what is read of the logs.
type LogOptions struct {
	// Container is the container of each pod; if empty, the default one. All selects all containers.
	Container string
	All       bool
	// Follow goes on until the context ends. It includes pods that are created later, and with Places clusters to which
	// the application comes later.
	Follow bool
	// Previous reads the log of the previous container.
	Previous bool
	// Tail is how many lines of each container to start with; nil for all.
	Tail *int64
	// Since skips older lines; 0 skips none.
	Since time.Duration
}

// LogLine is a line of the log of one container.
type LogLine struct {
	Cluster, Pod, Container string
	// Only says that the pod has no other container to choose.
	Only bool
	loglines.Line
}

// Logs reads the logs of an application in several clusters. Its functions are called from several goroutines, one at a
// time.
type Logs struct {
	Members *Members
	App     Application
	Options LogOptions
	Clock   clock.Clock
	// Line handles a line, whose text is valid during the call only. Nothing more is read until it returns. An error
	// ends everything.
	Line func(LogLine) error
	// Say reports something about a cluster to people, such as that it does not respond.
	Say func(cluster, text string)
	// Places returns the present clusters of the application. While following, clusters to which it comes are added,
	// and those that it has left are dropped once its pods are gone. Nil to read only the given clusters.
	Places func(context.Context) ([]string, error)

	mu sync.Mutex
	// asking limits how many clusters are asked for their pods at a time.
	asking chan struct{}
	places *followedClusters
}

// Limits of what is read in parallel.
const (
	// maxStreams is how many logs of one cluster are followed in parallel: the hub allows a user few more on one line.
	maxStreams = 16
	// readAtOnce is how many logs of one cluster are read in parallel without following.
	readAtOnce = 4
)

// Run reads the logs of all these clusters in parallel. When following, it returns when the context ends or all
// clusters refuse. It returns how many clusters could not be read, and an error only if a line could not be handled.
func (l *Logs) Run(ctx context.Context, clusters []string) (failed int, err error) {
	l.asking = make(chan struct{}, atOnce)
	if l.Options.Follow {
		refused, err := l.followAll(ctx, clusters)
		if ctx.Err() != nil {
			err = nil // the context ended it
		}
		return refused, err
	}
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	for _, name := range clusters {
		g.Go(func() error {
			err := l.readOnce(gctx, name)
			var not readerError
			if err == nil || errors.As(err, &not) {
				return err
			}
			l.note(name, ErrorSentence(err))
			l.mu.Lock()
			defer l.mu.Unlock()
			failed++
			return nil
		})
	}
	err = g.Wait()
	if ctx.Err() != nil {
		err = nil // the context ended it
	}
	return failed, err
}

// readerError says that Line failed.
type readerError struct{ error }

func (e readerError) Unwrap() error { return e.error }

func (l *Logs) note(cluster, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.Say(cluster, text)
}

// find lists the pods of a cluster, within the limit.
func (l *Logs) find(ctx context.Context, cluster string) (Found, error) {
	select {
	case l.asking <- struct{}{}:
	case <-ctx.Done():
		return Found{}, ctx.Err()
	}
	defer func() { <-l.asking }()
	found := l.Members.FindIn(ctx, l.App, cluster)
	return found, found.err
}

// readOnce reads the logs of one cluster without following.
func (l *Logs) readOnce(ctx context.Context, cluster string) error {
	found, err := l.find(ctx, cluster)
	if err != nil {
		return err
	}
	if len(found.Pods) == 0 {
		l.note(cluster, "it has no pods of it")
	}
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(readAtOnce)
	for i := range found.Pods {
		p := &found.Pods[i]
		chosen, why := l.chosenContainers(p)
		if why != "" {
			l.note(cluster, why)
		}
		for _, c := range chosen {
			if !c.Begun {
				l.note(cluster, fmt.Sprintf("%s has no log yet: it is %s", nameOf(p, c.Name), p.State))
				continue
			}
			g.Go(func() error {
				one := &container{cluster: cluster, pod: p, name: c.Name}
				err := l.read(gctx, one)
				var not readerError
				if err != nil && !errors.As(err, &not) && gctx.Err() == nil {
					l.note(cluster, nameOf(p, c.Name)+": "+ErrorSentence(err))
					return nil
				}
				return err
			})
		}
	}
	return g.Wait()
}

func nameOf(p *owned.Pod, container string) string {
	if p.Main() <= 1 && container == p.Default {
		return p.Name
	}
	return p.Name + "/" + container
}

// chosenContainers returns the selected containers of a pod, or why there are none.
func (l *Logs) chosenContainers(p *owned.Pod) ([]owned.Container, string) {
	if l.Options.All {
		return p.Containers, ""
	}
	name := l.Options.Container
	if name == "" {
		name = p.Default
	}
	c, ok := p.Container(name)
	if !ok {
		return nil, fmt.Sprintf("pod %s has no container %q; it has %s", p.Name, name, namesOf(p))
	}
	return []owned.Container{c}, ""
}

func namesOf(p *owned.Pod) string {
	out := make([]string, 0, len(p.Containers))
	for _, c := range p.Containers {
		out = append(out, c.Name)
	}
	return strings.Join(out, ", ")
}

// container is a container whose log is read.
type container struct {
	cluster string
	pod     *owned.Pod
	name    string
	// late says that it was created while others were being read, so its whole log is read.
	late bool
	// last is the time of the last line that was read, and resumed says that some were.
	last    time.Time
	resumed bool
}

// read reads the log of one container from where it was left.
func (l *Logs) read(ctx context.Context, c *container) error {
	query := url.Values{"container": {c.name}, "timestamps": {"true"}}
	if l.Options.Follow {
		query.Set("follow", "true")
	}
	if l.Options.Previous {
		query.Set("previous", "true")
	}
	switch {
	case c.resumed && !c.last.IsZero():
		query.Set("sinceTime", c.last.UTC().Format(time.RFC3339))
	case c.late:
	default:
		if l.Options.Tail != nil {
			query.Set("tailLines", strconv.FormatInt(*l.Options.Tail, 10))
		}
		if l.Options.Since > 0 {
			query.Set("sinceSeconds", strconv.FormatInt(max(1, int64(l.Options.Since/time.Second)), 10))
		}
	}
	path := "/api/v1/namespaces/" + c.pod.Namespace + "/pods/" + c.pod.Name + "/log"
	body, err := member{l.Members, c.cluster}.open(ctx, path, query, "*/*")
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	c.resumed = true
	lines := loglines.NewReader(body, c.last)
	for {
		line, err := lines.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := l.emit(c, line); err != nil {
			return readerError{err}
		}
		if !line.At.IsZero() {
			c.last = line.At
		}
	}
}

func (l *Logs) emit(c *container, line loglines.Line) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Line(LogLine{Cluster: c.cluster, Pod: c.pod.Name, Container: c.name, Only: nameOf(c.pod, c.name) == c.pod.Name, Line: line})
}
