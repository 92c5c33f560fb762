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

	"fairlead.dev/common/kube"
	"fairlead.dev/hub/machinery/backup/retention"
)

// Deps are the dependencies of a Schedule.
type Deps struct {
	// Maker makes the backups.
	Maker Maker
	// Directory is where they go; Every and Rules say when they are made and which are kept.
	Directory string
	Every     time.Duration
	Rules     retention.Rules
	// HubReader reads the hub's API, by which the hub knows who it is; HubClient writes there how backups fare.
	HubReader client.Reader
	HubClient client.Client
	Registry  prometheus.Registerer
	Events    kube.EventSink
	Clock     clock.Clock
}

// Schedule makes backups while this hub is the one that works. Of when the next is due it knows nothing but what is in the directory: one
// that was restarted, or has just been elected, goes on with what is there.
type Schedule struct {
	Deps

	metrics *metrics
	host    string
	// hub is the identity of this hub; empty as long as it is not known.
	hub string
	// failures is how many tries have failed since the last backup, and failed when the last of them did.
	failures int
	failed   time.Time
}

// NewSchedule returns a schedule, which a manager starts.
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

// NeedLeaderElection implements manager.LeaderElectionRunnable: of several hubs the one that works makes backups.
func (*Schedule) NeedLeaderElection() bool { return true }

// longestWait is how long the schedule waits at most until it looks at the clock and into the directory again: machines sleep, clocks are
// put right, and people delete files.
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
	// That backups are to be made is told before the first is.
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
			break // this hub stops, or another one works now
		}
		s.report(ctx, name, verified, began, err)
	}
	return nil
}

// due returns when the next backup is due. Whatever is wrong with the directory is wrong with the next backup, too, and
// told then.
func (s *Schedule) due(ctx context.Context) time.Time {
	in := retention.Input{Now: s.Clock.Now(), Every: s.Every, Failures: s.failures, Failed: s.failed}
	dir, err := s.open(ctx)
	if err != nil {
		return retention.Due(in)
	}
	files, err := dir.backups()
	if errors.Is(err, fs.ErrNotExist) {
		err = nil // it is made with the first
	}
	if err != nil {
		return retention.Due(in) // what is there is told again once it can be seen again
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

// open returns the directory of this hub's backups. A hub is known by its namespace kube-system, which outlives it in its backups.
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

// make makes a backup, and deletes those that are not kept any more once it is there.
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
