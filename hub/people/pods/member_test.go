package pods_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"fairlead.dev/hub/people/pods"
	"fairlead.dev/test/reachable"
)

// Times of tests.
const (
	waitTimeout = time.Minute
	poll        = 10 * time.Millisecond
)

// hub returns a hub with edge-1 connected.
func hub(t *testing.T) *reachable.Hub {
	t.Helper()
	return reachable.New(t, "edge-1", "shop", "web", nil)
}

// membersOf returns the Members of a hub.
func membersOf(t *testing.T, h *reachable.Hub) *pods.Members {
	t.Helper()
	m, err := pods.NewMembers(&rest.Config{Host: h.URL, BearerToken: "mine"})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func web() pods.Application {
	return pods.Application{Resource: appsv1.SchemeGroupVersion.WithResource("deployments"), Kind: "Deployment", Namespace: "shop", Name: "web"}
}

func TestFindingPods(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := hub(t)
	s.Run("web-2", "rs-web")
	s.Run("web-1", "rs-web")
	s.Run("thief", "rs-other") // its labels are those of web
	found, err := membersOf(t, s).Find(t.Context(), web(), []string{"edge-2", "edge-1"})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(found[0].Error).To(Equal("edge-2 is not connected: line lost 12s ago"))
	g.Expect(found[0].Reason).To(Equal(metav1.StatusReasonServiceUnavailable))
	g.Expect(found[1].Err()).NotTo(HaveOccurred())
	g.Expect(found[1].Pods).To(HaveLen(2))
	g.Expect(found[1].Pods[0].Name).To(Equal("web-1"))
	cluster, pod := pods.ChoosePod(found, "")
	g.Expect(cluster + "/" + pod.Name).To(Equal("edge-1/web-1"))
	_, pod = pods.ChoosePod(found, "absent")
	g.Expect(pod).To(BeNil())
	g.Expect(s.Came()).To(Equal([]string{"Bearer mine"}))
	line, err := membersOf(t, s).Line(t.Context(), "edge-1")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(line.Up).To(BeTrue())
}

func TestFollowingLogs(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := hub(t)
	s.Run("web-1", "rs-web")
	s.Write("web-1", "first")
	s.Write("web-1", "second")
	var mu sync.Mutex
	var lines, said []string
	logs := pods.Logs{
		Members: membersOf(t, s), App: web(), Options: pods.LogOptions{Follow: true}, Clock: hurried{began: time.Now()},
		Line: func(l pods.LogLine) error {
			mu.Lock()
			defer mu.Unlock()
			lines = append(lines, fmt.Sprintf("%s/%s %s", l.Cluster, l.Pod, l.Text))
			return nil
		},
		Say: func(cluster, text string) {
			mu.Lock()
			defer mu.Unlock()
			said = append(said, cluster+": "+text)
		},
	}
	read := func(from *[]string) func() []string {
		return func() []string {
			mu.Lock()
			defer mu.Unlock()
			return append([]string(nil), *from...)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := logs.Run(ctx, []string{"edge-1"})
		ended <- err
	}()
	want := []string{"edge-1/web-1 first", "edge-1/web-1 second"}
	g.Eventually(read(&lines), waitTimeout, poll).Should(Equal(want))

	s.Drop()
	g.Eventually(read(&said), waitTimeout, poll).Should(Equal([]string{"edge-1: edge-1 is not connected: line lost 12s ago; trying again"}))
	s.Write("web-1", "third")
	s.Back()
	want = append(want, "edge-1/web-1 third")
	g.Eventually(read(&lines), waitTimeout, poll).Should(Equal(want), "what was read before is not read again, and nothing is left out")
	g.Expect(read(&said)()).To(HaveLen(2))
	g.Expect(read(&said)()[1]).To(Equal("edge-1: it answers again"))

	s.Write("web-2", "late")
	s.Run("web-2", "rs-web")
	want = append(want, "edge-1/web-2 late")
	g.Eventually(read(&lines), waitTimeout, poll).Should(Equal(want), "a pod that comes later is followed")

	cancel()
	g.Eventually(ended, waitTimeout, poll).Should(Receive(BeNil()))
}

// hurried is a clock that runs ten times as fast.
type hurried struct {
	clock.RealClock

	began time.Time
}

// Now implements clock.PassiveClock.
func (h hurried) Now() time.Time { return h.began.Add(10 * time.Since(h.began)) }

// Since implements clock.PassiveClock.
func (h hurried) Since(at time.Time) time.Duration { return h.Now().Sub(at) }

// NewTimer implements clock.Clock.
func (h hurried) NewTimer(span time.Duration) clock.Timer { return h.RealClock.NewTimer(span / 10) }

// TestFollowingLogsWhereTheApplicationGoes moves the application to edge-1, away again, and back.
func TestFollowingLogsWhereTheApplicationGoes(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := hub(t)
	s.Run("web-1", "rs-web")
	s.Write("web-1", "first")
	var mu sync.Mutex
	var lines, said, now []string
	var failure error
	tail := int64(0)
	logs := pods.Logs{
		Members: membersOf(t, s), App: web(), Options: pods.LogOptions{Follow: true, Tail: &tail}, Clock: hurried{began: time.Now()},
		Line: func(l pods.LogLine) error {
			mu.Lock()
			defer mu.Unlock()
			lines = append(lines, fmt.Sprintf("%s/%s %s", l.Cluster, l.Pod, l.Text))
			return nil
		},
		Say: func(cluster, text string) {
			mu.Lock()
			defer mu.Unlock()
			said = append(said, cluster+": "+text)
		},
		Places: func(context.Context) ([]string, error) {
			mu.Lock()
			defer mu.Unlock()
			return append([]string(nil), now...), failure
		},
	}
	is := func(err error, clusters ...string) {
		mu.Lock()
		defer mu.Unlock()
		now, failure = clusters, err
	}
	read := func(from *[]string) func() []string {
		return func() []string {
			mu.Lock()
			defer mu.Unlock()
			return append([]string(nil), *from...)
		}
	}
	is(nil, "edge-2")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := logs.Run(ctx, []string{"edge-2"})
		ended <- err
	}()
	g.Eventually(read(&said), waitTimeout, poll).Should(ContainElement(HavePrefix("edge-2: edge-2 is not connected")))
	is(errors.New("the hub is away"))
	g.Eventually(read(&said), waitTimeout, poll).Should(ContainElement("the hub: the hub is away; new clusters of the application are not followed until this is known again"))
	is(nil, "edge-1")
	g.Eventually(read(&lines), waitTimeout, poll).Should(Equal([]string{"edge-1/web-1 first"}), "all of a log that comes later")
	g.Expect(read(&said)()).To(ContainElements("the hub: the clusters of the application are known again", "edge-1: the application has a new cluster; its logs are followed too"))

	is(nil)
	s.Stop("web-1")
	g.Eventually(read(&said), waitTimeout, poll).Should(ContainElement("edge-1: the application has left the cluster; its logs are no longer followed"))
	s.Write("web-2", "again")
	s.Run("web-2", "rs-web")
	is(nil, "edge-1")
	g.Eventually(read(&lines), waitTimeout, poll).Should(Equal([]string{"edge-1/web-1 first", "edge-1/web-2 again"}))
	cancel()
	g.Eventually(ended, waitTimeout, poll).Should(Receive(BeNil()))
}

func TestReadingLogsEndsWithWhoeverReads(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := hub(t)
	s.Run("web-1", "rs-web")
	s.Write("web-1", "first")
	for _, follow := range []bool{false, true} {
		logs := pods.Logs{
			Members: membersOf(t, s), App: web(), Options: pods.LogOptions{Follow: follow}, Clock: clock.RealClock{},
			Line: func(pods.LogLine) error { return io.ErrClosedPipe }, Say: func(string, string) {},
		}
		_, err := logs.Run(t.Context(), []string{"edge-1", "edge-2"})
		g.Expect(err).To(MatchError(io.ErrClosedPipe))
	}
}

func TestRunningCommands(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := hub(t)
	var out bytes.Buffer
	c := pods.Command{Cluster: "edge-1", Namespace: "shop", Pod: "web-1", Container: "app", Words: []string{"cat"}, In: strings.NewReader("hello"), Out: &out, Err: io.Discard}
	status, ended := pods.ExitStatus(membersOf(t, s).Exec(t.Context(), c))
	g.Expect(ended).To(BeTrue())
	g.Expect(status).To(Equal(7))
	g.Expect(out.String()).To(Equal("HELLO"))

	c.Container = "secret"
	g.Expect(membersOf(t, s).Exec(t.Context(), c)).To(MatchError("edge-1: its owner lets operators get, list, watch, log in shop"))
	c.Cluster = "edge-2"
	g.Expect(membersOf(t, s).Exec(t.Context(), c)).To(MatchError("edge-2 is not connected: line lost 12s ago"))
}
