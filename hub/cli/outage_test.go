package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/test/builder"
)

// flaky is a connection to the hub that works once, fails twice, and then works again.
type flaky struct {
	*lookout
	// asked counts the requests of the kind that fails.
	asked *atomic.Int32
	// happens makes the hub execute the failing requests: only the response is lost.
	happens *atomic.Bool
}

// flaky returns a connection on which the second and third request for paths with this suffix fail.
func (l *lookout) flaky(path string) *flaky {
	l.t.Helper()
	g := NewWithT(l.t)
	target, err := url.Parse(l.hub.Config.Host)
	g.Expect(err).NotTo(HaveOccurred())
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.Transport, err = rest.TransportFor(l.hub.Config)
	g.Expect(err).NotTo(HaveOccurred())
	out := &flaky{asked: &atomic.Int32{}, happens: &atomic.Bool{}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, path) {
			if n := out.asked.Add(1); n == 2 || n == 3 {
				if out.happens.Load() {
					proxy.ServeHTTP(httptest.NewRecorder(), r)
				}
				http.Error(w, "no healthy upstream", http.StatusServiceUnavailable)
				return
			}
		}
		proxy.ServeHTTP(w, r)
	}))
	l.t.Cleanup(server.Close)
	through := *l
	through.env = map[string]string{"KUBECONFIG": kubeconfigOf(l.t, filepath.Join(l.t.TempDir(), "flaky"), server.URL)}
	out.lookout = &through
	return out
}

// during runs a command, and calls end once the hub has failed and answers again.
func (f *flaky) during(status int, end func(), args ...string) (out, said string) {
	f.t.Helper()
	e := execution{env: f.env}
	ended := make(chan int, 1)
	go func() { ended <- e.run(f.t.Context(), args...) }()
	f.Eventually(func() int32 { return f.asked.Load() }, waitTimeout, poll).Should(BeNumerically(">", 3), e.err.String)
	end()
	f.Eventually(ended, waitTimeout, poll).Should(Receive(Equal(status)), e.err.String)
	f.Expect(e.err.String()).To(MatchRegexp(`The hub cannot be asked now \(.*\); asking again, for \S+ at most\n(?s:.*)The hub answers again, after \d+s\n`))
	return e.out.String(), e.err.String()
}

// outages makes the hub unavailable while commands wait.
func (l *lookout) outages(t *testing.T) {
	t.Helper()
	t.Run("wait", func(t *testing.T) {
		l := l.with(t)
		c := &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "late"}}
		l.create(builder.MakeCluster(c.Name).Obj())
		f := l.flaky("/clusters")
		out, _ := f.during(ExitDone, func() { l.ready(c) }, "wait", "cluster/late", "--timeout", waitTimeout.String())
		f.Expect(out).To(Equal("cluster late is ready\n"))
	})
	t.Run("upgrade agents", func(t *testing.T) {
		l := l.with(t)
		c := &clusterv1alpha1.Cluster{}
		f := l.flaky("/clusters")
		out, said := f.during(ExitDone, func() {
			l.Expect(l.c.Get(l.t.Context(), client.ObjectKey{Name: "late"}, c)).To(Succeed())
			c.Status.AgentUpgrade = &clusterv1alpha1.AgentUpgrade{
				Image: "agent:2", Attempt: c.Spec.Agent.Attempt, Phase: clusterv1alpha1.AgentNotInPod, Message: "it runs as a process", Time: metav1.Now(),
			}
			l.Expect(l.c.Status().Update(l.t.Context(), c)).To(Succeed())
		}, "upgrade", "agents", "late", "--image", "agent:2", "--timeout", waitTimeout.String())
		f.Expect(out).To(HavePrefix("cluster late is upgraded by its owner: it runs as a process\n"), said)
		l.Expect(l.c.Delete(l.t.Context(), c)).To(Succeed())
	})
	t.Run("rollout status", func(t *testing.T) {
		l, g := l.with(t), NewWithT(t)
		key := client.ObjectKey{Namespace: "default", Name: "web-deployment"}
		b := &workv1alpha2.ResourceBinding{}
		g.Expect(l.c.Get(t.Context(), key, b)).To(Succeed())
		metav1.SetMetaDataAnnotation(&b.ObjectMeta, contract.RolloutStrategyAnnotation, "calm")
		g.Expect(l.c.Update(t.Context(), b)).To(Succeed())
		ro := &fairleadv1alpha1.StagedRollout{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
		l.create(ro)
		defer func() {
			g.Expect(l.c.Delete(context.WithoutCancel(t.Context()), ro)).To(Succeed())
			delete(b.Annotations, contract.RolloutStrategyAnnotation)
			g.Expect(l.c.Update(t.Context(), b)).To(Succeed())
		}()
		ro.Status = fairleadv1alpha1.StagedRolloutStatus{
			Strategy: "calm", Phase: fairleadv1alpha1.RolloutProgressing, Revision: 2, Stable: 1, Wave: "all", Waves: []fairleadv1alpha1.WaveStatus{{Name: "all", Size: 1}},
		}
		g.Expect(l.c.Status().Update(t.Context(), ro)).To(Succeed())
		f := l.flaky("/stagedrollouts/" + key.Name)
		_, said := f.during(ExitHalted, func() {
			ro.Status.Phase = fairleadv1alpha1.RolloutHalted
			g.Expect(l.c.Status().Update(t.Context(), ro)).To(Succeed())
		}, "rollout", "status", "deployment/web", "--watch")
		g.Expect(said).To(HaveSuffix("Error: the rollout of Deployment default/web is halted at r2\n"))
		// If the first read fails, the command fails at once, with another status than for a halted rollout.
		f = l.flaky("/stagedrollouts/" + key.Name)
		f.asked.Store(1)
		_, said = f.run(ExitFailed, "rollout", "status", "deployment/web", "--watch")
		g.Expect(said).To(ContainSubstring("reading the rollout"))
	})
}

// with returns the lookout for a subtest.
func (l *lookout) with(t *testing.T) *lookout {
	t.Helper()
	out := *l
	out.t, out.WithT = t, NewWithT(t)
	return &out
}

// ready sets a cluster to Ready.
func (l *lookout) ready(c *clusterv1alpha1.Cluster) {
	l.Expect(l.c.Get(l.t.Context(), client.ObjectKeyFromObject(c), c)).To(Succeed())
	c.Status.Conditions = []metav1.Condition{{Type: clusterv1alpha1.ClusterReady, Status: metav1.ConditionTrue, Reason: "x", LastTransitionTime: metav1.Now()}}
	l.Expect(l.c.Status().Update(l.t.Context(), c)).To(Succeed())
}

func TestErrorsThatAreAnOutage(t *testing.T) {
	t.Parallel()
	refused := &url.Error{Op: "Get", URL: "https://hub", Err: &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}}
	work := schema.GroupResource{Resource: "works"}
	for name, tc := range map[string]struct {
		err  error
		want bool
	}{
		"nobody listens":               {refused, true},
		"the command was told to stop": {&url.Error{Op: "Get", URL: "https://hub", Err: context.Canceled}, false},
		"it went away in the middle":   {fmt.Errorf("reading: %w", io.ErrUnexpectedEOF), true},
		"it is busy":                   {apierrors.NewTooManyRequests("later", 1), true},
		"it is starting":               {apierrors.NewServiceUnavailable("no"), true},
		"its database changes leaders": {fmt.Errorf("listing works: %w", apierrors.NewInternalError(errors.New("leader changed"))), true},
		"it says that there is none":   {apierrors.NewNotFound(work, "w"), false},
		"it says that one may not":     {apierrors.NewForbidden(work, "w", nil), false},
		"it is no hub":                 {&meta.NoKindMatchError{GroupKind: schema.GroupKind{Kind: "Work"}}, false},
		"something was typed wrongly":  {errors.New("there is no cluster edge-9 on the hub"), false},
	} {
		NewWithT(t).Expect(isOutage(tc.err)).To(Equal(tc.want), name)
	}
}

func TestHowLongAnOutageMayLast(t *testing.T) {
	t.Parallel()
	begin := time.Now()
	away := apierrors.NewServiceUnavailable("no")
	for name, tc := range map[string]struct {
		ends time.Time
		last time.Duration
	}{
		"without --timeout for a minute": {last: outageTimeout},
		"with it until then":             {ends: begin.Add(10 * time.Minute), last: 10 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			var said output
			clk := clocktesting.NewFakeClock(begin)
			o := outage{env: Environment{Err: &said, Clock: clk}, ends: tc.ends}
			_, err := o.again(away)
			g.Expect(err).To(MatchError(away), "it has not answered yet")
			_, err = o.again(nil)
			g.Expect(err).NotTo(HaveOccurred())
			for range 2 {
				again, err := o.again(away)
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(again).To(BeTrue())
				clk.Step(tc.last - time.Second)
				again, err = o.again(away)
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(again).To(BeTrue())
				clk.SetTime(begin)
				again, err = o.again(nil)
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(again).To(BeFalse())
			}
			g.Expect(strings.Count(said.String(), "cannot be asked now")).To(Equal(2), "each is told once")
			_, err = o.again(away)
			g.Expect(err).NotTo(HaveOccurred())
			clk.Step(tc.last)
			_, err = o.again(away)
			g.Expect(err).To(MatchError(away))
			g.Expect(exitOf(err)).To(Equal(ExitFailed))
		})
	}
}
