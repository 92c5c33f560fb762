package apiserver

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/test/cluster"
)

// spoken is the output of a program.
type spoken struct {
	mu    sync.Mutex
	lines strings.Builder
}

func (s *spoken) add(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines.WriteString(line + "\n")
}

func (s *spoken) all() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lines.String()
}

// TestPeopleMakeRoomInAFullDatabase fills the database with objects that only people can delete. A hub started on it
// cannot write what it installs, and must not keep those people waiting.
func TestPeopleMakeRoomInAFullDatabase(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	e := embedded(t)
	e.Flags = []string{"--database-quota=25165824", "--upkeep-interval=1s", "--unsafe-no-fsync"}
	e.WaitForHub = true
	started := func() (*Process, *spoken) {
		said := &spoken{}
		e.Progress = said.add
		p, err := e.Start(t.Context())
		g.Expect(err).NotTo(HaveOccurred())
		return p, said
	}
	const version = "v1.0.0"
	first, said := started()
	g.Expect(Install(t.Context(), first.Config(), Options{Version: version})).To(Succeed())
	hubClient, err := client.New(first.Config(), client.Options{})
	g.Expect(err).NotTo(HaveOccurred())
	// A database that is full at one check may have room at the next: it counts as full once nothing has fit for
	// several checks, which happen every second. Large objects leave many empty pages too small for another one, which
	// a restarted hub could reclaim.
	const least, small, large, lasting = 1 << 12, 1 << 15, 1 << 18, 300
	size, most, n, refusals := large, large, 0, 0
	random := rand.NewChaCha8([32]byte{})
	fill := func() error {
		data := make([]byte, size)
		_, _ = random.Read(data) // never fails
		n++
		return hubClient.Create(t.Context(), &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: fmt.Sprintf("large-%d", n)},
			Data:       map[string]string{"value": hex.EncodeToString(data)},
		})
	}
	g.Eventually(func() string {
		if fill() == nil {
			size, refusals = min(2*size, most), 0
		} else {
			most = small
			size, refusals = max(min(size, most)/2, least), refusals+1
		}
		if refusals < lasting {
			return ""
		}
		return said.all()
	}).WithPolling(10 * time.Millisecond).WithTimeout(5 * time.Minute).Should(ContainSubstring("the database is full"))
	first.Stop()

	second, said := started()
	defer second.Stop()
	g.Eventually(said.all).WithTimeout(time.Minute).Should(ContainSubstring("the database is full"))
	installed := make(chan error, 1)
	go func() { installed <- Install(t.Context(), second.Config(), Options{Version: version}) }()
	admin := asAdministrator(t, e)
	var kept corev1.ConfigMapList
	g.Eventually(admin.List).WithArguments(t.Context(), &kept, client.InNamespace(metav1.NamespaceDefault)).Should(Succeed(), "nobody waits for a hub that waits")
	refused := admin.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "more"}})
	g.Expect(isFull(refused)).To(BeTrue(), "%v", refused)
	g.Expect(permanentError(refused)).To(Succeed())
	for i := range kept.Items {
		if strings.HasPrefix(kept.Items[i].Name, "large-") {
			g.Expect(admin.Delete(t.Context(), &kept.Items[i])).To(Succeed())
		}
	}
	g.Eventually(installed).WithTimeout(2*time.Minute).Should(Receive(BeNil()), "the hub goes on by itself")
	g.Eventually(said.all).WithTimeout(time.Minute).Should(ContainSubstring("the database takes writes again"), "it is said when the look has ended that made room")
	g.Expect(second.Open(t.Context())).To(Succeed())
}

// lockOf is a lock whose operations behave as a test says.
type lockOf struct {
	resourcelock.Interface

	held  bool
	write error
	reads int
}

func (l *lockOf) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	l.reads++
	if !l.held {
		return nil, nil, apierrors.NewNotFound(schema.GroupResource{}, installedName)
	}
	return &resourcelock.LeaderElectionRecord{HolderIdentity: "other", LeaseDurationSeconds: 15}, fmt.Append(nil, l.reads), nil
}

func (l *lockOf) Create(context.Context, resourcelock.LeaderElectionRecord) error { return l.write }

func (*lockOf) Identity() string { return "own" }
func (*lockOf) Describe() string { return "kube-system/" + installedName }

func TestWhyAHubDoesNotInstallIsSaid(t *testing.T) {
	t.Parallel()
	full := errors.New("etcdserver: mvcc: " + errorFull)
	for name, tc := range map[string]struct {
		lock *lockOf
		want string
	}{
		"the database is full":  {&lockOf{write: full}, errorFull},
		"another hub installs":  {&lockOf{held: true}, "another hub installs"},
		"another hub was first": {&lockOf{write: apierrors.NewAlreadyExists(schema.GroupResource{}, installedName)}, "another hub installs"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			ctx, cancel := context.WithTimeout(t.Context(), 10*installRetry)
			defer cancel()
			err := runLocked(ctx, &recordingLock{Interface: tc.lock, failed: &failure{}}, func(context.Context) error { return nil })
			g.Expect(err).To(MatchError(ContainSubstring(tc.want)))
			g.Expect(isFull(err)).To(Equal(tc.want == errorFull))
		})
	}
}

// anInstallationWaitsForRoom refuses all writes, as the API server does when etcd is full, for longer than an
// installation may take.
func anInstallationWaitsForRoom(t *testing.T, hub *cluster.Cluster) {
	t.Helper()
	g := NewWithT(t)
	var full atomic.Bool
	full.Store(true)
	cfg := inFrontOf(t, hub, func(api http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if full.Load() && r.Method != http.MethodGet {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusInternalServerError)
				_, _ = fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","code":500,"message":"etcdserver: mvcc: %s"}`, errorFull)
				return
			}
			api.ServeHTTP(w, r)
		})
	})
	i, err := newInstaller(cfg)
	g.Expect(err).NotTo(HaveOccurred())
	i.timeout, i.every = 15*time.Second, time.Second
	said := &spoken{}
	ctx := ctrl.LoggerInto(t.Context(), funcr.New(func(_, args string) { said.add(args) }, funcr.Options{}))
	installed := make(chan error, 1)
	// An older version has the least to write once there is room.
	go func() { installed <- i.install(ctx, cfg, Options{Version: "v0.1.0"}) }()

	g.Eventually(said.all).WithTimeout(time.Minute).Should(ContainSubstring("Installing again what the hub needs"))
	g.Expect(said.all()).To(And(ContainSubstring("delete what nobody needs"), ContainSubstring(errorFull), Not(ContainSubstring("another hub"))))
	g.Expect(installed).NotTo(Receive())
	full.Store(false)
	g.Eventually(installed).WithTimeout(time.Minute).Should(Receive(BeNil()))
}
