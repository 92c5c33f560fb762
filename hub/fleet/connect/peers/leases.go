package peers

import (
	"cmp"
	"context"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-logr/logr"

	"fairlead.dev/common/outward"
)

// Settings for the Leases.
const (
	// listEvery is how often they are read, and lookEvery the minimum interval when unknown replicas connect.
	listEvery = 5 * time.Second
	lookEvery = time.Second
	// renewEvery is how often this replica renews its own Lease.
	renewEvery = 10 * time.Second
	// LeaseDuration is how long a Lease may stay unchanged before its replica counts as gone.
	LeaseDuration = 40 * time.Second
	// directoryTimeout bounds each reconcile of the Leases.
	directoryTimeout = 5 * time.Second
	// maxPeers bounds the number of other replicas that are called.
	maxPeers = 32
)

// leases is what one replica remembers of the Leases of all replicas.
type leases struct {
	own     Record
	renewed time.Time
	// seen has the version of each record, and since when it has it.
	seen map[string]leaseVersion
	// failing is the error of the last attempt; it is logged only when attempts start or cease to fail.
	failing string
}

type leaseVersion struct {
	version string
	since   time.Time
}

// keepLeases renews the record of this replica, and connects to the others that have one.
func (p *Peers) keepLeases(ctx context.Context, own Record) {
	r := &leases{own: own, seen: map[string]leaseVersion{}}
	ticker := p.o.Clock.NewTicker(p.listEvery)
	defer ticker.Stop()
	for {
		err := p.reconcile(ctx, r)
		if ctx.Err() != nil {
			return
		}
		r.report(ctx, err)
		rest := p.o.Clock.NewTimer(p.lookEvery)
		select {
		case <-ctx.Done():
		case <-rest.C():
		}
		rest.Stop()
		select {
		case <-ctx.Done():
			return
		case <-p.look:
		case <-ticker.C():
		}
	}
}

// report logs when the Leases become unreachable, or reachable again.
func (r *leases) report(ctx context.Context, err error) {
	log := logr.FromContextOrDiscard(ctx)
	switch {
	case err != nil && r.failing == "":
		r.failing = err.Error()
		log.Error(err, "The Leases of the hub's replicas cannot be kept; replicas that know each other go on, and new ones are not found")
	case err == nil && r.failing != "":
		r.failing = ""
		log.Info("The Leases of the hub's replicas are kept again")
	}
}

// reconcile processes the records once.
func (p *Peers) reconcile(ctx context.Context, r *leases) error {
	ctx, cancel := context.WithTimeout(ctx, directoryTimeout)
	defer cancel()
	if now := p.o.Clock.Now(); r.renewed.IsZero() || now.Sub(r.renewed) >= renewEvery {
		if err := p.o.Directory.Renew(ctx, r.own); err != nil {
			r.restartExpiry(now)
			return err
		}
		r.renewed = now
	}
	records, err := p.o.Directory.List(ctx)
	if err != nil {
		r.restartExpiry(p.o.Clock.Now())
		return err
	}
	p.callNew(ctx, records)
	return p.collect(ctx, r, records)
}

// restartExpiry restarts the time after which records count as abandoned: while the API was unreachable, the others
// could not renew theirs either.
func (r *leases) restartExpiry(now time.Time) {
	for id, s := range r.seen {
		s.since = now
		r.seen[id] = s
	}
}

// callNew connects to new replicas, and drops those that have no record any more.
func (p *Peers) callNew(ctx context.Context, records []Record) {
	slices.SortFunc(records, func(a, b Record) int { return cmp.Compare(a.ID, b.ID) })
	listed := map[string]bool{}
	var left []string
	for _, record := range records {
		if record.ID == p.me.id || record.validate() != nil || len(listed) == maxPeers {
			continue
		}
		listed[record.ID] = true
		p.mu.Lock()
		old, is := p.known[record.ID]
		p.mu.Unlock()
		if is && old.record.Address == record.Address && old.record.Pin == record.Pin {
			continue
		}
		if is {
			p.disconnect(record.ID)
		}
		p.call(ctx, record)
	}
	for _, id := range p.all() {
		if !listed[id] {
			left = append(left, id)
		}
	}
	p.disconnect(left...)
}

// collect deletes the records of replicas that are gone: not renewed for LeaseDuration, and not heard from.
func (p *Peers) collect(ctx context.Context, r *leases, records []Record) error {
	now, seen := p.o.Clock.Now(), map[string]leaseVersion{}
	for _, record := range records {
		before, is := r.seen[record.ID]
		if !is || before.version != record.Version {
			before = leaseVersion{version: record.Version, since: now}
		}
		seen[record.ID] = before
		if record.ID == p.me.id || now.Sub(before.since) < LeaseDuration || p.isSynced(record.ID) {
			continue
		}
		if err := p.o.Directory.Remove(ctx, record); err != nil {
			return err
		}
		logr.FromContextOrDiscard(ctx).Info("Another replica of the hub is gone", "replica", record.ID)
	}
	r.seen = seen
	return nil
}

// advertised returns the address at which other replicas reach a listener.
func advertised(ctx context.Context, told string, at net.Addr) string {
	host, port, err := net.SplitHostPort(told)
	if err != nil {
		host, port = strings.Trim(told, "[]"), ""
	}
	if tcp, is := at.(*net.TCPAddr); is {
		if port == "" {
			port = strconv.Itoa(tcp.Port)
		}
		if host == "" && !tcp.IP.IsUnspecified() {
			host = tcp.IP.String()
		}
	}
	if host == "" {
		host = outward.Address(ctx)
	}
	return net.JoinHostPort(host, port)
}
