package backup

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"fairlead.dev/common/kube/eventsink"
	"fairlead.dev/hub/machinery/backup/retention"
)

// scheduled is a schedule in a directory, with its own clock.
type scheduled struct {
	Deps
	*WithT

	t        *testing.T
	clock    *clocktesting.FakeClock
	registry *prometheus.Registry
	broken   atomic.Bool
	mu       sync.Mutex
	events   []string
}

// hubID is in the names of the hub's files.
const hubID = "1a2b3c4d"

func newScheduled(t *testing.T) *scheduled {
	t.Helper()
	system := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceSystem, UID: hubID + "-0000-4000-8000-000000000000"}}
	hubClient := fake.NewClientBuilder().WithObjects(system).Build()
	s := &scheduled{
		WithT: NewWithT(t), t: t, registry: prometheus.NewRegistry(),
		clock: clocktesting.NewFakeClock(time.Date(2026, 11, 22, 3, 0, 0, 0, time.UTC)),
	}
	seal, _ := newKey(t)
	database := of("text")
	s.Deps = Deps{
		Maker: Maker{Seal: seal, Database: Database{
			Verify: database.Verify,
			Take: func(ctx context.Context, out io.Writer) error {
				if s.broken.Load() {
					return errors.New("the disk is full: make room")
				}
				return database.Take(ctx, out)
			},
		}},
		Directory: filepath.Join(t.TempDir(), "backups"), Every: 24 * time.Hour, Rules: retention.Rules{Keep: 3},
		HubReader: hubClient, HubClient: hubClient, Registry: s.registry, Clock: s.clock,
		Events: func(e eventsink.Event) {
			s.mu.Lock()
			defer s.mu.Unlock()
			if !e.Detail {
				s.events = append(s.events, e.Reason+": "+e.Note)
			}
		},
	}
	return s
}

// run starts the schedule, and returns a function that stops it.
func (s *scheduled) run() (stop func()) {
	s.t.Helper()
	schedule, err := NewSchedule(s.Deps)
	s.Expect(err).NotTo(HaveOccurred())
	s.Expect(schedule.NeedLeaderElection()).To(BeTrue())
	ctx, cancel := context.WithCancel(s.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- schedule.Start(ctx) }()
	return func() {
		cancel()
		s.Eventually(ended).WithTimeout(waitTimeout).Should(Receive(BeNil()))
	}
}

const waitTimeout = time.Minute

// pass advances the clock, as fast as the schedule checks it.
func (s *scheduled) pass(d time.Duration) {
	s.t.Helper()
	for end := s.clock.Now().Add(d); s.clock.Now().Before(end); {
		s.Eventually(s.clock.HasWaiters).WithTimeout(waitTimeout).WithPolling(time.Millisecond).Should(BeTrue())
		s.clock.Step(min(longestWait, end.Sub(s.clock.Now())))
	}
	s.Eventually(s.clock.HasWaiters).WithTimeout(waitTimeout).WithPolling(time.Millisecond).Should(BeTrue())
}

// metric returns the value of a metric; -1 if it is not reported.
func (s *scheduled) metric(name string) float64 {
	s.t.Helper()
	families, err := s.registry.Gather()
	s.Expect(err).NotTo(HaveOccurred())
	for _, f := range families {
		if f.GetName() == "fairlead_hub_backup_"+name {
			m := f.GetMetric()[0]
			return m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	return -1
}

func (s *scheduled) record() *Record {
	s.t.Helper()
	record, err := ReadRecord(s.t.Context(), s.HubReader)
	s.Expect(err).NotTo(HaveOccurred())
	return record
}

func file(stamp string) string { return "fairlead-" + hubID + "-" + stamp + ".backup.age" }

func TestBackupsAreMadeOnScheduleAndOldOnesGo(t *testing.T) {
	t.Parallel()
	s := newScheduled(t)
	s.Expect(os.MkdirAll(s.Directory, 0o700)).To(Succeed())
	left := ".fairlead-" + hubID + "-20260101T000000Z.backup.age.123.partial"
	others := []string{"notes.txt", "fairlead-99999999-20200101T000000Z.backup.age", ".fairlead-99999999-20260101T000000Z.backup.age.123.partial", "fairlead-" + hubID + "-20200101T000000Z.backup.age.mine"}
	for _, name := range append(others, left) {
		s.Expect(os.WriteFile(filepath.Join(s.Directory, name), []byte("data"), 0o600)).To(Succeed())
	}
	s.Expect(os.Mkdir(filepath.Join(s.Directory, file("20200101T000000Z")), 0o700)).To(Succeed(), "a directory is no backup")
	others = append(others, file("20200101T000000Z"))

	stop := s.run()
	s.pass(time.Minute)
	s.Expect(names(t, s.Directory)).To(ConsistOf(append(others, file("20261122T030000Z"))), "at once, and what one left that was killed goes")
	s.pass(23 * time.Hour)
	s.Expect(names(t, s.Directory)).To(HaveLen(len(others) + 1))
	s.pass(59 * time.Minute)
	s.Expect(names(t, s.Directory)).To(ConsistOf(append(others, file("20261122T030000Z"), file("20261123T030000Z"))))
	s.Expect(s.metric("last_success_timestamp_seconds")).To(BeEquivalentTo(time.Date(2026, 11, 23, 3, 0, 0, 0, time.UTC).Unix()))
	s.Expect(s.metric("interval_seconds")).To(BeEquivalentTo(86400))
	s.Expect(s.metric("size_bytes")).To(BeNumerically(">", 100))
	s.Expect(s.metric("files")).To(BeEquivalentTo(2))
	stop()
	s.Expect(s.metric("last_success_timestamp_seconds")).To(BeEquivalentTo(-1), "only the hub that works tells")

	// The next run continues where this one stopped, and makes up once for what it missed.
	stop = s.run()
	s.pass(time.Hour)
	s.Expect(names(t, s.Directory)).To(HaveLen(len(others) + 2))
	s.Expect(s.metric("last_success_timestamp_seconds")).To(BeEquivalentTo(time.Date(2026, 11, 23, 3, 0, 0, 0, time.UTC).Unix()), "though it has made none itself")
	stop()
	s.clock.Step(100 * time.Hour)
	stop = s.run()
	defer stop()
	s.pass(time.Hour)
	s.Expect(names(t, s.Directory)).To(HaveLen(len(others) + 3))
	s.pass(24 * time.Hour)
	s.Expect(names(t, s.Directory)).To(HaveLen(len(others) + 3))
	s.Expect(names(t, s.Directory)).NotTo(ContainElement(file("20261122T030000Z")), "three are kept")
	s.Expect(names(t, s.Directory)).To(ContainElements(others))
	record := s.record()
	s.Expect(record.Last.Verified.Objects).To(Equal(1))
	s.Expect(record.Last.Sealed).To(BeTrue())
	s.Expect(record.IsOverdue(s.clock.Now())).To(BeFalse())
	s.Expect(record.IsOverdue(s.clock.Now().Add(48 * time.Hour))).To(BeTrue())
	s.Expect(s.events).To(BeEmpty(), "all went as it should")
}

func TestBackupsThatFailAreToldOnceAndTriedAgain(t *testing.T) {
	t.Parallel()
	s := newScheduled(t)
	stop := s.run()
	s.pass(time.Minute)
	good := names(t, s.Directory)
	s.broken.Store(true)
	s.pass(24 * time.Hour)
	s.pass(4 * time.Hour)
	s.Expect(names(t, s.Directory)).To(Equal(good), "the last good one stays, and no part of another is there")
	// After 1, 2, 4, … 32 minutes, then every hour.
	s.Expect(s.metric("failures_total")).To(BeNumerically("~", 9, 1))
	record := s.record()
	s.Expect(record.Last.File).To(Equal(filepath.Join(s.Directory, good[0])))
	s.Expect(record.Failure).To(ContainSubstring("the disk is full"))
	s.Expect(s.clock.Now().Sub(record.FailingSince.Time)).To(BeNumerically("~", 4*time.Hour, 2*time.Minute))
	stop()
	stop = s.run()
	defer stop()
	s.pass(2 * time.Minute)
	s.Expect(s.events).To(HaveLen(1), "a hub that is started again does not tell it anew")
	s.Expect(s.events[0]).To(And(HavePrefix("BackupFailed: "), ContainSubstring("the disk is full"), ContainSubstring(s.Directory)))

	s.broken.Store(false)
	s.pass(time.Hour)
	s.Expect(names(t, s.Directory)).To(HaveLen(2))
	s.Expect(s.record().Failure).To(BeEmpty())
	s.Expect(s.events).To(HaveLen(2))
	s.Expect(s.events[1]).To(HavePrefix("BackupMade: "))
}

func TestADirectoryThatIsNotThereIsAFailureAndNoReasonToStop(t *testing.T) {
	t.Parallel()
	s := newScheduled(t)
	s.Expect(os.WriteFile(s.Directory, []byte("a file"), 0o600)).To(Succeed())
	defer s.run()()
	s.pass(10 * time.Second)
	s.Expect(s.metric("failures_total")).To(BeEquivalentTo(1))
	s.Expect(s.metric("last_success_timestamp_seconds")).To(BeZero())
	s.Expect(s.record().Failure).To(ContainSubstring(s.Directory))
	s.Expect(os.Remove(s.Directory)).To(Succeed())
	s.pass(2 * time.Minute)
	s.Expect(names(t, s.Directory)).To(HaveLen(1))
	info, err := os.Stat(s.Directory)
	s.Expect(err).NotTo(HaveOccurred())
	s.Expect(info.Mode().Perm()).To(Equal(os.FileMode(0o700)))
}

func TestAHubThatDoesNotKnowWhoItIsWaits(t *testing.T) {
	t.Parallel()
	s := newScheduled(t)
	system := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceSystem}}
	s.Expect(s.HubClient.Get(t.Context(), client.ObjectKeyFromObject(system), system)).To(Succeed())
	s.Expect(s.HubClient.Delete(t.Context(), system)).To(Succeed())
	defer s.run()()
	s.pass(10 * time.Second)
	s.Expect(s.record().Failure).To(ContainSubstring("reading which hub this is"))
	_, err := os.Stat(s.Directory)
	s.Expect(err).To(MatchError(os.ErrNotExist))
	system.ResourceVersion = ""
	s.Expect(s.HubClient.Create(t.Context(), system)).To(Succeed())
	s.pass(2 * time.Minute)
	s.Expect(strings.Join(names(t, s.Directory), " ")).To(ContainSubstring(hubID))
}
