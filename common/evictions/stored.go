package evictions

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
)

// storedEviction is an eviction in an annotation. While all of them are short, and the earlier targets of those in
// progress are known, they have the format that hubs have always written. Otherwise those in progress are in
// contract.EvictionsPackedAnnotation, with Packed instead of Before.
type storedEviction struct {
	workv1alpha2.Eviction

	// Task is when the eviction task was created, if there is one, in contract.EvictionsPackedAnnotation.
	Task *metav1.Time `json:"task,omitempty"`
	// Packed is the difference of Before from that of the preceding eviction that has it, or from nothing for the
	// first: compressed lines, each a minus and a cluster that is no longer a target, or the new number of replicas
	// and a cluster that is new or has another number. Among thousands of targets few differ.
	Packed []byte `json:"packed,omitempty"`
}

// maxUnpacked bounds the decompressed lines of all evictions in an annotation, in bytes, since a user could write
// anything into the annotation.
const maxUnpacked = 8 << 20

// encode returns the annotations for evictions, with all values bounded; packed is nil if it is not needed. For
// finished evictions it records only some of the replacement clusters; for those in progress it drops the targets
// before the oldest, and then more, until the rest fits into room.
func encode(b workv1alpha2.Binding, evictions []workv1alpha2.Eviction, room int) (plain, packed []byte, err error) {
	evictions = slices.Clone(evictions)
	for i := range evictions {
		e := &evictions[i]
		e.To = e.To[:min(len(e.To), maxTo)]
		e.Message = shortened(e.Message)
		if e.Ended != nil {
			e.Before = nil
		}
	}
	plain, packed, err = written(b, evictions, func(e workv1alpha2.Eviction) bool { return e.Ended == nil && e.Before == nil })
	if err != nil || len(plain)+len(packed) <= min(maxPlainBytes, room) {
		return plain, packed, err
	}
	for {
		plain, packed, err = written(b, evictions, func(e workv1alpha2.Eviction) bool { return e.Ended == nil })
		if err != nil || len(plain)+len(packed) <= room || !forget(evictions) {
			return plain, packed, err
		}
	}
}

// written returns the annotations for evictions, the ones selected by apart in the second.
func written(b workv1alpha2.Binding, evictions []workv1alpha2.Eviction, apart func(workv1alpha2.Eviction) bool) (plain, packed []byte, err error) {
	first := slices.DeleteFunc(slices.Clone(evictions), apart)
	if plain, err = json.Marshal(first); err != nil || len(first) == len(evictions) {
		return plain, nil, err
	}
	second := pack(slices.DeleteFunc(slices.Clone(evictions), func(e workv1alpha2.Eviction) bool { return !apart(e) }))
	for i := range second {
		if task := taskOf(b, second[i].From); task != nil {
			second[i].Task = made(task)
		}
	}
	packed, err = json.Marshal(second)
	return plain, packed, err
}

// taskOf returns the eviction task for a cluster; nil if there is none.
func taskOf(b workv1alpha2.Binding, cluster string) *workv1alpha2.GracefulEvictionTask {
	tasks := b.BindingSpec().GracefulEvictionTasks
	if i := slices.IndexFunc(tasks, func(t workv1alpha2.GracefulEvictionTask) bool { return t.FromCluster == cluster }); i >= 0 {
		return &tasks[i]
	}
	return nil
}

// made returns when a task was created, to the second, which is the stored precision.
func made(task *workv1alpha2.GracefulEvictionTask) *metav1.Time {
	if task.CreationTimestamp == nil {
		return nil
	}
	return new(task.CreationTimestamp.Rfc3339Copy())
}

// read decodes an annotation; nothing if it cannot be decoded.
func read(data string) []storedEviction {
	var out []storedEviction
	if data == "" || json.Unmarshal([]byte(data), &out) != nil {
		return nil
	}
	return out[:min(len(out), maxEvictions)] // no hub writes more
}

// forget drops the earlier targets of the oldest eviction that has them; if there is none, the message of the oldest
// that has one and its replacement clusters. It returns whether there was anything to drop.
func forget(evictions []workv1alpha2.Eviction) bool {
	if i := slices.IndexFunc(evictions, func(e workv1alpha2.Eviction) bool { return e.Before != nil }); i >= 0 {
		evictions[i].Before = nil
		return true
	}
	if i := slices.IndexFunc(evictions, func(e workv1alpha2.Eviction) bool { return len(e.To)+len(e.Message) > 0 }); i >= 0 {
		evictions[i].To, evictions[i].Message = nil, ""
		return true
	}
	return false
}

func shortened(s string) string {
	if len(s) <= maxEvictionMessage {
		return s
	}
	n := maxEvictionMessage
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "..."
}

func pack(evictions []workv1alpha2.Eviction) []storedEviction {
	out := make([]storedEviction, len(evictions))
	var last []workv1alpha2.TargetCluster
	for i := range evictions {
		out[i].Eviction = evictions[i]
		if evictions[i].Before == nil {
			continue
		}
		targets := slices.SortedFunc(slices.Values(evictions[i].Before), byName)
		out[i].Before, out[i].Packed = nil, compressed(difference(last, targets))
		last = targets
	}
	return out
}

// unpack decodes stored evictions. Targets that cannot be decoded are unknown, and so are those stored as a
// difference from them.
func unpack(stored []storedEviction) []workv1alpha2.Eviction {
	out := make([]workv1alpha2.Eviction, len(stored))
	var last []workv1alpha2.TargetCluster
	left, lost := maxUnpacked, false
	for i := range stored {
		out[i] = stored[i].Eviction
		if stored[i].Packed == nil || lost {
			continue
		}
		lines, err := decompressed(stored[i].Packed, left)
		if err == nil {
			left -= len(lines)
			last, err = apply(last, lines)
		}
		if lost = err != nil; !lost {
			out[i].Before = last
		}
	}
	return out
}

func byName(a, b workv1alpha2.TargetCluster) int { return cmp.Compare(a.Name, b.Name) }

// difference returns the lines that turn was into is, both sorted by name.
func difference(was, is []workv1alpha2.TargetCluster) string {
	var out strings.Builder
	for len(was)+len(is) > 0 {
		switch {
		case len(is) == 0 || len(was) > 0 && was[0].Name < is[0].Name:
			fmt.Fprintf(&out, "-%s\n", was[0].Name)
			was = was[1:]
			continue
		case len(was) > 0 && was[0].Name == is[0].Name:
			if was[0].Replicas != is[0].Replicas {
				fmt.Fprintf(&out, "%s %d\n", is[0].Name, is[0].Replicas)
			}
			was = was[1:]
		default:
			fmt.Fprintf(&out, "%s %d\n", is[0].Name, is[0].Replicas)
		}
		is = is[1:]
	}
	return out.String()
}

// apply returns the targets after a difference; was, sorted by name, is not modified.
func apply(was []workv1alpha2.TargetCluster, lines string) ([]workv1alpha2.TargetCluster, error) {
	if lines == "" && was != nil {
		return was, nil
	}
	out := make([]workv1alpha2.TargetCluster, 0, len(was)+strings.Count(lines, "\n"))
	for line := range strings.Lines(lines) {
		line = strings.TrimSuffix(line, "\n")
		name, gone := strings.CutPrefix(line, "-")
		target := workv1alpha2.TargetCluster{Name: name}
		if !gone {
			name, number, _ := strings.Cut(line, " ")
			replicas, err := strconv.ParseInt(number, 10, 32)
			if err != nil {
				return nil, fmt.Errorf("reading the replicas before an eviction: %w", err)
			}
			target = workv1alpha2.TargetCluster{Name: name, Replicas: int32(replicas)}
		}
		for len(was) > 0 && was[0].Name < target.Name {
			out, was = append(out, was[0]), was[1:]
		}
		if len(was) > 0 && was[0].Name == target.Name {
			was = was[1:]
		}
		if !gone {
			out = append(out, target)
		}
	}
	return append(out, was...), nil
}

func compressed(s string) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	// Writes to a buffer do not fail.
	_, _ = io.WriteString(w, s)
	_ = w.Close()
	return out.Bytes()
}

func decompressed(data []byte, most int) (string, error) {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return "", fmt.Errorf("reading the targets before an eviction: %w", err)
	}
	out, err := io.ReadAll(io.LimitReader(r, int64(most)+1))
	if err != nil {
		return "", fmt.Errorf("reading the targets before an eviction: %w", err)
	}
	if len(out) > most {
		return "", fmt.Errorf("the targets before evictions are longer than %d bytes", maxUnpacked)
	}
	return string(out), nil
}
