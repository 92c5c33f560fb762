package rollout

// act lets the agents act.
func (w *world) act() bool {
	changed := false
	for _, name := range names(w.apps) {
		a := w.apps[name]
		for _, cluster := range names(a.works) {
			changed = w.actOne(a, cluster, a.works[cluster]) || changed
		}
	}
	return changed
}

func (w *world) actOne(a *app, cluster string, have *work) bool {
	if !w.clusters[cluster].connected || a.suspended[cluster] {
		return false
	}
	o := a.objects[cluster]
	if o == nil {
		o = &object{}
		a.objects[cluster] = o
	}
	if o.seen != have.generation {
		o.seen, o.seenAt = have.generation, w.now
	}
	if o.generation != have.generation {
		if left := applyTime - w.now.Sub(o.seenAt); left > 0 {
			w.after(left)
			return false
		}
		o.generation, o.replicas = have.generation, have.replicas
		if have.manifest != o.manifest && a.does(have.manifest, cluster) != "refuses" {
			o.manifest, o.readyAt = have.manifest, w.now.Add(startupTime)
			w.after(startupTime)
			if a.does(o.manifest, cluster) == "cuts" {
				w.tell("%s: %s cuts its own line", a.name, cluster)
				w.connect(cluster, false)
				return true
			}
		}
	}
	refused := o.manifest != have.manifest && a.does(have.manifest, cluster) == "refuses"
	if o.manifest != have.manifest && !refused { // drift, or a manifest that was refused before is accepted now
		o.manifest, o.readyAt = have.manifest, w.now.Add(startupTime)
		w.after(startupTime)
	}
	said := report{generation: o.generation, applied: !refused, refused: refused, healthy: !refused && !w.now.Before(o.readyAt) && a.does(o.manifest, cluster) != "sick"}
	w.after(o.readyAt.Sub(w.now))
	if said == have.report {
		return false
	}
	have.report = said
	return true
}
