package join

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/agent/registration"
	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/hub/cli"
	"fairlead.dev/test/builder"
	testcluster "fairlead.dev/test/cluster"
)

// command runs an operator's command and returns its output.
func (h *hub) command(ctx context.Context, args ...string) (string, error) {
	var out, problems bytes.Buffer
	kubeconfig := testcluster.Shared(h.t, testcluster.Options{Profile: testcluster.Hub}).Kubeconfig
	code := cli.Run(ctx, cli.Environment{
		Out: &out, Err: &problems, Random: rand.Reader, Clock: clock.RealClock{},
		SetLogger: func(logr.Logger) {}, Getenv: func(string) string { return "" },
	}, append(args, "--kubeconfig", kubeconfig))
	if code != 0 {
		return out.String(), errors.New(problems.String())
	}
	return out.String(), nil
}

// must runs a command that must succeed.
func (h *hub) must(ctx context.Context, args ...string) string {
	h.t.Helper()
	out, err := h.command(ctx, args...)
	h.g.Expect(err).NotTo(HaveOccurred())
	return out
}

// created returns the token that `hub token create` prints.
func (h *hub) created(ctx context.Context, args ...string) string {
	words := strings.Fields(h.must(ctx, append([]string{"token", "create"}, args...)...))
	for i, word := range words {
		if word == "--token" {
			return words[i+1]
		}
	}
	h.t.Fatal("no token was printed")
	return ""
}

// members is an API that serves as several members, one per path.
func members(t *testing.T) func(name string) *rest.Config {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"kube-system","uid":"member-of-%s"}}`, name)
	}))
	t.Cleanup(server.Close)
	return func(name string) *rest.Config { return &rest.Config{Host: server.URL + "/" + name} }
}

func TestTokensAreListedWithoutTheirSecretsAndRevoked(t *testing.T) {
	h := newHub(t)
	ctx := t.Context()
	h.serve()
	member := members(t)
	token := h.created(ctx, "--cluster-pattern", "shop-*", "--max-uses", "3", "--ttl", "2h", "--region", "eu", "--labels", "tier=gold")
	id, secret, _ := strings.Cut(token, ".")

	for _, name := range []string{"shop-1", "shop-2"} {
		o := h.options(name, token)
		o.Member = member(name)
		_, err := registration.Join(ctx, o)
		h.g.Expect(err).NotTo(HaveOccurred())
	}
	list := h.must(ctx, "token", "list")
	h.g.Expect(list).To(MatchRegexp(id + ` +shop-\* +1 of 3 +in 11\dm +auto +\S+ +shop-1,shop-2\n`))
	h.g.Expect(list).NotTo(ContainSubstring(secret))
	cluster := &clusterv1alpha1.Cluster{}
	h.g.Expect(h.Get(ctx, client.ObjectKey{Name: "shop-2"}, cluster)).To(Succeed())
	h.g.Expect(cluster.Labels).To(HaveKeyWithValue("tier", "gold"))
	h.g.Expect(cluster.Spec.Region).To(Equal("eu"))

	h.g.Expect(h.must(ctx, "token", "revoke", token)).To(And(ContainSubstring(id), Not(ContainSubstring(secret))))
	h.g.Expect(h.must(ctx, "token", "list")).NotTo(ContainSubstring(id))
	_, err := h.command(ctx, "token", "revoke", id)
	h.g.Expect(err).To(MatchError(ContainSubstring("there is no join token " + id)))
	o := h.options("shop-3", token)
	o.Member, o.Deadline = member("shop-3"), 10*time.Second
	_, err = registration.Join(ctx, o)
	h.g.Expect(err).To(HaveOccurred())
	t.Log(err)
}

func TestAnOperatorAcceptsAClusterThatWaits(t *testing.T) {
	h := newHub(t)
	ctx := t.Context()
	h.serve()
	o := h.options("waits", h.created(ctx, "--cluster", "waits", "--approval", "manual"))
	o.Member = members(t)("waits")
	joined := make(chan error, 1)
	go func() {
		_, err := registration.Join(ctx, o)
		joined <- err
	}()
	h.g.Eventually(func() string { return h.must(ctx, "clusters") }).WithTimeout(time.Minute).
		Should(MatchRegexp("waits +asks to join .*hub clusters approve waits"))
	out, err := h.command(ctx, "clusters", "approve", "nobody", "waits")
	h.g.Expect(err).To(MatchError(ContainSubstring("no member waits to join as cluster nobody")))
	h.g.Expect(out).To(ContainSubstring("Cluster waits is accepted"), "the others are accepted nevertheless")
	h.g.Eventually(joined).WithTimeout(time.Minute).Should(Receive(Not(HaveOccurred())))
	h.g.Eventually(func() string { return h.must(ctx, "clusters") }).WithTimeout(time.Minute).
		Should(MatchRegexp(`waits .* in (29|30)d `), "until when the certificate holds")
	h.g.Expect(h.must(ctx, "clusters", "describe", "waits")).To(MatchRegexp(`Joined: .* with token \S+ of \S+, accepted by \S+`))
}

func TestAForgottenClusterIsGoneAndItsNameKept(t *testing.T) {
	h := newHub(t)
	ctx := t.Context()
	h.serve()
	member := members(t)
	o := h.options("lost", h.created(ctx, "--cluster", "lost"))
	o.Member = member("lost")
	config, err := registration.Join(ctx, o)
	h.g.Expect(err).NotTo(HaveOccurred())
	agent, err := client.New(config, client.Options{Scheme: h.Scheme()})
	h.g.Expect(err).NotTo(HaveOccurred())
	works := func() error { return agent.List(ctx, &workv1alpha1.WorkList{}, client.InNamespace("karmada-es-lost")) }
	h.g.Eventually(works).WithTimeout(time.Minute).Should(Succeed())
	h.g.Expect(h.Create(ctx, builder.MakeWork("lost", "web").Obj())).To(Succeed())

	// An agent that reports its member as unavailable is not forgotten without confirmation.
	says := func(ready metav1.ConditionStatus) {
		lost := &clusterv1alpha1.Cluster{}
		h.g.Expect(h.Get(ctx, client.ObjectKey{Name: "lost"}, lost)).To(Succeed())
		before := lost.DeepCopy()
		meta.SetStatusCondition(&lost.Status.Conditions, metav1.Condition{Type: clusterv1alpha1.ClusterReady, Status: ready, Reason: clusterv1alpha1.ReasonClusterNotReachable})
		h.g.Expect(h.Status().Patch(ctx, lost, client.MergeFrom(before))).To(Succeed())
	}
	says(metav1.ConditionFalse)
	_, err = h.command(ctx, "forget", "lost")
	h.g.Expect(err).To(MatchError(ContainSubstring("the agent of cluster lost is alive")))
	says(metav1.ConditionUnknown)
	h.g.Expect(h.must(ctx, "forget", "lost")).To(ContainSubstring("Cluster lost is forgotten; the name is kept for member member-of-lost"))
	h.g.Eventually(works).Should(MatchError(ContainSubstring("forbidden")), "although its certificate holds, as soon as the authorizer hears")
	err = h.Get(ctx, client.ObjectKey{Name: "karmada-es-lost"}, &corev1.Namespace{})
	h.g.Expect(apierrors.IsNotFound(err)).To(BeTrue(), "the Work with its finalizer held nothing up")
	h.g.Expect(h.must(ctx, "forget", "lost")).To(ContainSubstring("was forgotten already"))
	h.g.Expect(h.must(ctx, "clusters", "describe", "lost")).To(ContainSubstring("Forgotten:"))

	another := h.options("lost", h.created(ctx, "--cluster", "lost"))
	another.Member = member("other")
	_, err = registration.Join(ctx, another)
	var denied *registration.DeniedError
	h.g.Expect(errors.As(err, &denied)).To(BeTrue())
	h.g.Expect(denied.Reason).To(Equal(contract.ReasonNameReserved))

	h.g.Expect(h.must(ctx, "forget", "lost", "--release")).To(ContainSubstring("The name lost is free"))
	another.Token = h.created(ctx, "--cluster", "lost")
	_, err = registration.Join(ctx, another)
	h.g.Expect(err).NotTo(HaveOccurred())
}

// TestManyJoinAtOnce has 80 members join with one token that is valid for 60.
func TestManyJoinAtOnce(t *testing.T) {
	const many, allowed = 80, 60
	h := newHub(t)
	ctx := t.Context()
	h.serve()
	member := members(t)
	token := h.created(ctx, "--cluster-pattern", "crowd-*", "--max-uses", fmt.Sprint(allowed))
	began := time.Now()
	errs := make([]error, many)
	var all sync.WaitGroup
	for i := range many {
		o := h.options(fmt.Sprintf("crowd-%d", i), token)
		o.Member, o.Progress, o.Deadline = member(o.Cluster), nil, 4*time.Minute
		all.Go(func() { _, errs[i] = registration.Join(ctx, o) })
	}
	all.Wait()
	succeeded := 0
	for _, err := range errs {
		if err == nil {
			succeeded++
			continue
		}
		var denied *registration.DeniedError
		h.g.Expect(errors.As(err, &denied)).To(BeTrue(), "%v", err)
		h.g.Expect(denied.Reason).To(Equal(contract.ReasonTokenUsed))
	}
	h.g.Expect(succeeded).To(Equal(allowed))
	t.Logf("%d members asked at once; %d were let in within %.1f s", many, succeeded, time.Since(began).Seconds())
	h.g.Expect(h.must(ctx, "token", "list")).To(ContainSubstring(fmt.Sprintf("0 of %d", allowed)))
}
