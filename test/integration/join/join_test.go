package join

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/agent/registration"
	"fairlead.dev/agent/registration/discovery"
	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
	testcluster "fairlead.dev/test/cluster"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	testcluster.Main(m)
}

func TestJoin(t *testing.T) {
	h := newHub(t)
	h.serve()
	ctx := t.Context()
	o := h.options("edge-1", h.token(ctx, "edge-1", time.Hour))

	joined, err := registration.Join(ctx, o)
	h.g.Expect(err).NotTo(HaveOccurred())
	agent, err := client.New(joined, client.Options{Scheme: h.Scheme()})
	h.g.Expect(err).NotTo(HaveOccurred())
	h.g.Eventually(func(g Gomega) {
		record := &clusterv1alpha1.Cluster{}
		g.Expect(agent.Get(ctx, client.ObjectKey{Name: "edge-1"}, record)).To(Succeed())
		g.Expect(record.Annotations).To(HaveKeyWithValue(contract.ExecutionNamespaceAnnotation, "karmada-es-edge-1"))
		g.Expect(agent.List(ctx, &workv1alpha1.WorkList{}, client.InNamespace("karmada-es-edge-1"))).To(Succeed())
	}).WithTimeout(time.Minute).Should(Succeed())

	t.Run("what is kept is for its owner only, and the key of the request is gone", func(t *testing.T) {
		g := NewWithT(t)
		dir, err := os.Stat(o.StateDir)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(dir.Mode().Perm()).To(Equal(os.FileMode(0o700)))
		files, err := os.ReadDir(o.StateDir)
		g.Expect(err).NotTo(HaveOccurred())
		names := []string{}
		for _, f := range files {
			info, err := f.Info()
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(info.Mode().Perm()).To(Equal(os.FileMode(0o600)))
			names = append(names, f.Name())
		}
		g.Expect(names).To(ConsistOf("agent.json", registration.KubeconfigFile))
	})
	t.Run("it is loaded by later runs", func(t *testing.T) {
		g := NewWithT(t)
		again, err := registration.Load(o.StateDir, "edge-1")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(again.CertData).To(Equal(joined.CertData))
		_, err = registration.Load(o.StateDir, "edge-2")
		g.Expect(err).To(MatchError(registration.ErrOtherCluster))
		_, err = registration.Load(t.TempDir(), "edge-1")
		g.Expect(err).To(MatchError(registration.ErrNotJoined))
	})
	t.Run("a second join with the same flags has nothing to do", func(t *testing.T) {
		g := NewWithT(t)
		again, err := registration.Join(ctx, o)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(again.CertData).To(Equal(joined.CertData))
	})
	t.Run("a state directory is that of one cluster", func(t *testing.T) {
		other := o
		other.Cluster = "edge-2"
		_, err := registration.Join(ctx, other)
		NewWithT(t).Expect(err).To(MatchError(registration.ErrOtherCluster))
	})
	t.Run("a token is good once", func(t *testing.T) {
		g := NewWithT(t)
		_, err := registration.Join(ctx, h.options("edge-1", o.Token))
		g.Expect(err).To(MatchError(registration.ErrDenied))
		var denied *registration.DeniedError
		g.Expect(errors.As(err, &denied)).To(BeTrue())
		g.Expect(denied.Reason).To(Equal(contract.ReasonTokenUsed))
	})
	t.Run("the member comes back with a new token", func(t *testing.T) {
		_, err := registration.Join(ctx, h.options("edge-1", h.token(ctx, "edge-1", time.Hour)))
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
	})
	t.Run("a refused join succeeds later in the same state directory", func(t *testing.T) {
		g := NewWithT(t)
		again := h.options("edge-1", o.Token)
		_, err := registration.Join(ctx, again)
		g.Expect(err).To(MatchError(registration.ErrDenied))
		again.Token = h.token(ctx, "edge-1", time.Hour)
		_, err = registration.Join(ctx, again)
		g.Expect(err).NotTo(HaveOccurred())
	})
	t.Run("the member cannot join under another name as well", func(t *testing.T) {
		_, err := registration.Join(ctx, h.options("edge-9", h.token(ctx, "edge-9", time.Hour)))
		g := NewWithT(t)
		g.Expect(err).To(MatchError(registration.ErrDenied))
		g.Expect(err.Error()).To(ContainSubstring("edge-1"))
	})
	t.Run("a name that another member has is refused", func(t *testing.T) {
		g := NewWithT(t)
		taken := &clusterv1alpha1.Cluster{
			ObjectMeta: metav1.ObjectMeta{Name: "taken"},
			Spec:       clusterv1alpha1.ClusterSpec{ID: "somebody-else", SyncMode: clusterv1alpha1.Pull},
		}
		g.Expect(h.Create(ctx, taken)).To(Succeed())
		_, err := registration.Join(ctx, h.options("taken", h.token(ctx, "taken", time.Hour)))
		g.Expect(err).To(MatchError(registration.ErrDenied))
	})
	t.Run("an agent whose Cluster is removed joins again", func(t *testing.T) {
		g := NewWithT(t)
		record := &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "edge-1"}}
		g.Expect(h.Delete(ctx, record)).To(Succeed())
		g.Eventually(func() error {
			return client.IgnoreNotFound(h.Get(ctx, client.ObjectKey{Name: "edge-1"}, record))
		}).Should(Succeed())
		g.Eventually(func(g Gomega) {
			list := &clusterv1alpha1.ClusterList{}
			g.Expect(h.List(ctx, list, client.MatchingFields{"metadata.name": "edge-1"})).To(Succeed())
			g.Expect(list.Items).To(BeEmpty())
			g.Expect(client.IgnoreNotFound(h.Get(ctx, client.ObjectKey{Name: "karmada-es-edge-1"}, &corev1.Namespace{}))).To(Succeed())
		}).WithTimeout(time.Minute).Should(Succeed())
		again := o
		again.Token = h.token(ctx, "edge-1", time.Hour)
		_, err := registration.Join(ctx, again)
		g.Expect(err).NotTo(HaveOccurred())
	})
}

func TestAJoinThatWaitsForAnOperatorGoesOnWithTheTokenThatIsMeantForIt(t *testing.T) {
	h := newHub(t)
	ctx := t.Context()
	h.serve()
	dir := h.keeps(ctx, "waited", 0).dir
	o := h.options("waited", h.created(ctx, "--cluster-pattern", "waite*", "--max-uses", "3"))
	o.StateDir, o.Member, o.Clock = dir, members(t)("waited"), ahead{by: 400 * day} // its certificate has expired
	o.Deadline = 3 * time.Second
	_, err := registration.Join(ctx, o)
	h.g.Expect(err).To(MatchError(registration.ErrDeadline), "the token was not made for who joined before")

	o.Token, o.Deadline = h.created(ctx, "--rejoin", "waited"), time.Minute
	_, well := h.check(withoutClock(o))
	h.g.Expect(well).To(BeTrue())
	_, err = registration.Join(ctx, o)
	h.g.Expect(err).NotTo(HaveOccurred())
}

// withoutClock returns options with a correct clock.
func withoutClock(o registration.Options) registration.Options {
	o.Clock = nil
	return o
}

// awaitUsedUp waits until the API rejects a token. It caches the authentication of a token for some seconds.
func (h *hub) awaitUsedUp(ctx context.Context, token string) {
	h.t.Helper()
	anybody := rest.AnonymousClientConfig(h.config)
	anybody.BearerToken = token
	holder, err := client.New(anybody, client.Options{Scheme: h.Scheme()})
	h.g.Expect(err).NotTo(HaveOccurred())
	h.g.Eventually(func() error {
		return holder.Create(ctx, &certificatesv1.CertificateSigningRequest{}, client.DryRunAll)
	}).WithTimeout(time.Minute).Should(MatchError(apierrors.IsForbidden, "IsForbidden"))
}

func TestAJoinFailsWithOneClearReason(t *testing.T) {
	h := newHub(t)
	ctx := t.Context()
	token := h.token(ctx, "edge-5", time.Hour)
	id, _, _ := strings.Cut(token, ".")
	const nobody = "127.0.0.1:1" // a port that was free a moment ago may be that of another test
	file := filepath.Join(t.TempDir(), "file")
	h.g.Expect(os.WriteFile(file, nil, 0o600)).To(Succeed())

	tests := map[string]struct {
		change func(*registration.Options)
		want   error
	}{
		"another hash": {
			change: func(o *registration.Options) { o.CACertHashes = []string{"sha256:" + strings.Repeat("ab", 32)} },
			want:   discovery.ErrCAMismatch,
		},
		"a token that the hub does not know": {
			change: func(o *registration.Options) { o.Token = "zzzzzz.0123456789abcdef" }, want: discovery.ErrTokenUnknown,
		},
		"a token with another secret": {
			change: func(o *registration.Options) { o.Token = id + ".0123456789abcdef" }, want: discovery.ErrTokenSecret,
		},
		"nobody answers":  {change: func(o *registration.Options) { o.Hub = nobody }, want: registration.ErrUnreachable},
		"no such name":    {change: func(o *registration.Options) { o.Hub = "no-such-host.invalid:6443" }, want: registration.ErrUnreachable},
		"no state dir":    {change: func(o *registration.Options) { o.StateDir = "" }, want: registration.ErrStateDir},
		"a file in place": {change: func(o *registration.Options) { o.StateDir = filepath.Join(file, "state") }, want: registration.ErrStateDir},
		"no member":       {change: func(o *registration.Options) { o.Member = nil }, want: registration.ErrMember},
		"a member that does not answer": {
			change: func(o *registration.Options) { o.Member = &rest.Config{Host: "https://" + nobody} }, want: registration.ErrMember,
		},
		"flags that are wrong": {change: func(o *registration.Options) { o.Hub = "hub" }, want: discovery.ErrAddress},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			o := h.options("edge-5", token)
			o.Deadline = time.Second
			tc.change(&o)
			_, err := registration.Join(ctx, o)
			g.Expect(err).To(MatchError(tc.want))
			g.Expect(err.Error()).NotTo(ContainSubstring("\n"))
			t.Log(err)
		})
	}
}

func TestATokenThatExpiresBeforeTheRequestIsRejected(t *testing.T) {
	h := newHub(t)
	ctx := t.Context()
	token := h.token(ctx, "late", 6*time.Second) // cluster-info must be signed with it before, which takes a busy machine seconds
	h.g.Eventually(func() error {
		_, err := registration.Join(ctx, h.short("late", token))
		return err
	}).WithTimeout(time.Minute).Should(Or(MatchError(registration.ErrTokenRejected), MatchError(discovery.ErrTokenUnknown)))
}

func (h *hub) short(name, token string) registration.Options {
	o := h.options(name, token)
	o.Deadline = time.Second
	return o
}

// removeOthers removes the Clusters that other tests created for the one member that all tests share.
func (h *hub) removeOthers(ctx context.Context, name string) error {
	var list clusterv1alpha1.ClusterList
	if err := h.List(ctx, &list); err != nil {
		return err
	}
	for i := range list.Items {
		if list.Items[i].Name == name {
			continue
		}
		if err := h.Delete(ctx, &list.Items[i]); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	h.g.Eventually(func(g Gomega) {
		g.Expect(h.List(ctx, &list)).To(Succeed())
		for i := range list.Items {
			g.Expect(list.Items[i].Name).To(Equal(name))
		}
	}).WithTimeout(time.Minute).Should(Succeed())
	return nil
}
