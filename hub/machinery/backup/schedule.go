package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/common/kube/eventsink"
	"fairlead.dev/hub/machinery/backup/retention"
)

// Deps are the dependencies of a Schedule.
type Deps struct {
	// Maker makes the backups.
	Maker Maker
	// Directory is where backups are stored; Every and Rules determine when they are made and which are kept.
	Directory string
	Every     time.Duration
	Rules     retention.Rules
	// HubReader reads the hub's API, including the identity of the hub; HubClient writes the status.
	HubReader client.Reader
	HubClient client.Client
	Registry  prometheus.Registerer
	Events    eventsink.Sink
	Clock     clock.Clock
}

// Schedule makes backups while this hub is the leader. It decides from the directory alone when the next one is due, so
// it continues after a restart or an election.
type Schedule struct {
	Deps

	metrics *metrics
	host    string
	// hub is the identity of this hub; empty until it is known.
	hub string
	// failures is how many attempts have failed since the last backup, and failed when the last one did.
	failures int
	failed   time.Time
}

// NewSchedule returns a Schedule for a manager to start.
func NewSchedule(deps Deps) (*Schedule, error) {
	if deps.Maker.Database.Take == nil || deps.Maker.Database.Verify == nil || deps.Directory == "" || deps.Every <= 0 ||
		deps.HubReader == nil || deps.HubClient == nil || deps.Registry == nil || deps.Events == nil || deps.Clock == nil {
		return nil, errors.New("scheduling backups: what makes them, where and how often, the hub's clients, a registry, events and a clock must be given")
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("reading the name of this host: %w", err)
	}
	return &Schedule{Deps: deps, metrics: newMetrics(), host: host}, nil
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: only the leader makes backups.
func (*Schedule) NeedLeaderElection() bool { return true }

// longestWait bounds the time until the schedule checks the clock and the directory again: machines sleep, clocks are
// corrected, and people delete files.
const longestWait = time.Minute

// Start implements manager.Runnable.
func (s *Schedule) Start(ctx context.Context) error {
	unregister, err := s.metrics.register(s.Registry)
	defer unregister()
	if err != nil {
		return err
	}
	s.metrics.interval.Set(s.Every.Seconds())
	log := ctrl.LoggerFrom(ctx).WithName("backup")
	ctx = ctrl.LoggerInto(ctx, log)
	// Record the schedule before the first backup.
	if err := s.readRecord(ctx).write(ctx, s.HubClient); err != nil && ctx.Err() == nil {
		log.Error(err, "Telling how backups fare failed")
	}
	for ctx.Err() == nil {
		due := s.due(ctx)
		if wait := due.Sub(s.Clock.Now()); wait > 0 {
			select {
			case <-ctx.Done():
			case <-s.Clock.After(min(wait, longestWait)):
			}
			continue
		}
		began := s.Clock.Now()
		name, verified, err := s.make(ctx, began)
		if ctx.Err() != nil {
			break // this hub stops, or is no longer the leader
		}
		s.report(ctx, name, verified, began, err)
	}
	return nil
}

// due returns when the next backup is due. Errors with the directory are not reported here: the backup itself will
// report them.
func (s *Schedule) due(ctx context.Context) time.Time {
	in := retention.Input{Now: s.Clock.Now(), Every: s.Every, Failures: s.failures, Failed: s.failed}
	dir, err := s.open(ctx)
	if err != nil {
		return retention.Due(in)
	}
	files, err := dir.backups()
	if errors.Is(err, fs.ErrNotExist) {
		err = nil // the first backup creates it
	}
	if err != nil {
		return retention.Due(in) // the metrics are updated once it can be read again
	}
	told := 0.0
	if newest, ok := retention.Newest(files, in.Now); ok {
		in.Newest = newest.Taken
		told = float64(newest.Taken.Unix())
	}
	s.metrics.kept.Set(float64(len(files)))
	s.metrics.lastSuccess.Set(told)
	return retention.Due(in)
}

// open returns the directory of this hub's backups. A hub is identified by the UID of its namespace kube-system, which
// is restored with a backup.
func (s *Schedule) open(ctx context.Context) (directory, error) {
	dir := directory{path: s.Directory, hub: s.hub}
	if s.hub != "" {
		return dir, nil
	}
	system := &metav1.PartialObjectMetadata{}
	system.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	if err := s.HubReader.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, system); err != nil {
		return dir, fmt.Errorf("reading which hub this is: %w", err)
	}
	const enough = 8
	id, _, _ := strings.Cut(string(system.UID), "-")
	if len(id) < enough {
		return dir, fmt.Errorf("reading which hub this is: namespace %s has the UID %q", metav1.NamespaceSystem, system.UID)
	}
	s.hub = id[:enough]
	dir.hub = s.hub
	return dir, nil
}

// make makes a backup, and then deletes expired ones.
func (s *Schedule) make(ctx context.Context, now time.Time) (string, *Verified, error) {
	dir, err := s.open(ctx)
	if err != nil {
		return "", nil, err
	}
	if err := os.MkdirAll(dir.path, 0o700); err != nil {
		return "", nil, fmt.Errorf("making the directory of backups: %w", err)
	}
	if err := dir.sweep(); err != nil {
		return "", nil, fmt.Errorf("removing what a backup left that was not finished: %w", err)
	}
	name := retention.Name(dir.hub, now, s.Maker.Seal.IsSealed())
	verified, err := s.Maker.ToFile(ctx, filepath.Join(dir.path, name))
	if err != nil {
		return "", nil, err
	}
	deleted, err := dir.prune(s.Rules, now)
	for _, old := range deleted {
		ctrl.LoggerFrom(ctx).Info("Deleted an old backup", "file", old)
	}
	return name, verified, err
}
