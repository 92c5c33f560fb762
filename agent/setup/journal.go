package setup

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"fairlead.dev/agent/execution"
	"fairlead.dev/agent/journal"
	"fairlead.dev/agent/journal/entry"
	"fairlead.dev/common/interpreter/store"
)

// interpretersTimeout is how long an agent that knows where its Works are waits for the hub
// to say what kinds mean.
const interpretersTimeout = 3 * time.Second

// remembered is what the agent knows of before it started.
type remembered struct {
	// journal is nil if there is no directory for one.
	journal *journal.Journal
	// namespace is where the Works are; empty if that is not known.
	namespace string
	works     []execution.Kept
}

// journalOptions say where the journal is.
func journalOptions(ctx context.Context, o Options) journal.Options {
	return journal.Options{
		Directory: filepath.Join(o.StateDir, "journal", o.Cluster),
		Cluster:   o.Cluster,
		Key:       entry.KeyOf(o.JournalSecret),
		Clock:     o.Clock,
		Log:       ctrl.LoggerFrom(ctx),
		Registry:  ctrlmetrics.Registry,
	}
}

// CheckRecord returns an error if there is a record of what the hub had here that is not sealed as the options say, and so cannot be read.
func CheckRecord(ctx context.Context, o Options) error {
	return journal.CheckSeal(journalOptions(ctx, o))
}

// remember opens the journal.
func remember(ctx context.Context, o Options) remembered {
	if o.StateDir == "" {
		return remembered{}
	}
	j, namespace, records := journal.Open(journalOptions(ctx, o))
	out := remembered{journal: j, namespace: namespace}
	for _, r := range records {
		out.works = append(out.works, execution.Kept{Work: r.Work, Absent: r.Absent})
	}
	return out
}

// rules are what kinds meant when the hub was last asked; nil if that is not known, also of the webhooks that were not asked for then and are now.
func (m remembered) rules(noWebhooks bool) *store.Sources {
	if m.journal == nil {
		return nil
	}
	kept := m.journal.Rules()
	if kept == nil || kept.Unasked && !noWebhooks {
		return nil
	}
	return &store.Sources{Customizations: kept.Customizations, Webhooks: kept.Webhooks, Refused: kept.Refused}
}

// keepRules has the journal keep what kinds mean.
func (m remembered) keepRules(read store.Sources, noWebhooks bool) {
	if m.journal == nil {
		return
	}
	m.journal.PutRules(entry.Rules{Customizations: read.Customizations, Webhooks: read.Webhooks, Unasked: noWebhooks, Refused: read.Refused})
}

// deps gives execution what is remembered.
func (m remembered) deps(d execution.Deps) execution.Deps {
	d.Kept = m.works
	if m.journal != nil { // an interface of a nil pointer would not be nil
		d.Journal = m.journal
	}
	return d
}

// addTo has the journal written with the manager.
func (m remembered) addTo(mgr manager.Manager) error {
	if m.journal == nil {
		return nil
	}
	if err := mgr.Add(manager.RunnableFunc(m.journal.Start)); err != nil {
		return fmt.Errorf("adding the journal: %w", err)
	}
	return nil
}

// where returns the namespace of the Works: as the journal has it, or else as the hub says,
// for which it waits.
func (m remembered) where(ctx context.Context, hub client.Reader, o Options) (string, error) {
	if m.namespace != "" {
		return m.namespace, nil
	}
	namespace, err := executionNamespace(ctx, hub, o.Cluster, o.Clock)
	if err == nil && m.journal != nil {
		m.journal.Begin(namespace)
	}
	return namespace, err
}

// confirm asks the hub whether the Works are still where the journal has it. If they are
// not, the agent has to begin anew, with another journal.
func (m remembered) confirm(mgr manager.Manager, hub client.Reader, o Options, moved *string) error {
	if m.namespace == "" {
		return nil
	}
	err := mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		namespace, err := executionNamespace(ctx, hub, o.Cluster, o.Clock)
		switch {
		case ctx.Err() != nil:
			return nil //nolint:nilerr // Told to stop while waiting for the hub.
		case err != nil:
			return err
		case namespace != m.namespace:
			*moved = namespace
			return fmt.Errorf("the Works of cluster %q are in namespace %q now, and were in %q; the agent has to be started anew", o.Cluster, namespace, m.namespace)
		}
		return nil
	}))
	if err != nil {
		return fmt.Errorf("adding the question for the execution namespace: %w", err)
	}
	return nil
}
