package v1alpha2

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
)

// storedEviction is an eviction in an annotation. As long as all are short, and the targets before those under way are known, they are
// as hubs have always written them. Otherwise those under way are in contract.EvictionsPackedAnnotation, with Packed in place of Before.
//
// +kubebuilder:object:generate=false
type storedEviction struct {
	Eviction

	// Task is when the task was made, if there is one, in contract.EvictionsPackedAnnotation.
	Task *metav1.Time `json:"task,omitempty"`
	// Packed is how Before differs from that of the last eviction before this one that has it, from nothing for the first one:
	// compressed lines, each a cluster that is no target any more, after a minus, or one that is or has another number of
	// replicas than it had, before that number. In thousands of targets few differ.
	Packed []byte `json:"packed,omitempty"`
}

// maxUnpacked is how long the lines of all evictions in an annotation may be, in bytes. Who writes the annotation would have them be anything.
const maxUnpacked = 8 << 20

// encode returns the annotations for evictions, in which nothing is too long; the second is nil if there is no need for it. Of what
// is over it names some of the clusters that took the place; of what is under way it leaves out the targets before the oldest, and
// then more, until the rest has so much room.
func encode(b Binding, evictions []Eviction, room int) (plain, packed []byte, err error) {
	evictions = slices.Clone(evictions)
	for i := range evictions {
		e := &evictions[i]
		e.To = e.To[:min(len(e.To), maxTo)]
		e.Message = shortened(e.Message)
		if e.Ended != nil {
			e.Before = nil
		}
	}
	plain, packed, err = written(b, evictions, func(e Eviction) bool { return e.Ended == nil && e.Before == nil })
	if err != nil || len(plain)+len(packed) <= min(maxPlainBytes, room) {
		return plain, packed, err
	}
	for {
		plain, packed, err = written(b, evictions, func(e Eviction) bool { return e.Ended == nil })
		if err != nil || len(plain)+len(packed) <= room || !forget(evictions) {
			return plain, packed, err
		}
	}
}

// written returns the annotations for evictions of which some are in the second one.
func written(b Binding, evictions []Eviction, apart func(Eviction) bool) (plain, packed []byte, err error) {
	first := slices.DeleteFunc(slices.Clone(evictions), apart)
	if plain, err = json.Marshal(first); err != nil || len(first) == len(evictions) {
		return plain, nil, err
	}
	second := pack(slices.DeleteFunc(slices.Clone(evictions), func(e Eviction) bool { return !apart(e) }))
	for i := range second {
		if task := taskOf(b, second[i].From); task != nil {
			second[i].Task = made(task)
		}
	}
	packed, err = json.Marshal(second)
	return plain, packed, err
}

// taskOf returns the task of a cluster that is being left; nil if there is none.
func taskOf(b Binding, cluster string) *GracefulEvictionTask {
	tasks := b.BindingSpec().GracefulEvictionTasks
	if i := slices.IndexFunc(tasks, func(t GracefulEvictionTask) bool { return t.FromCluster == cluster }); i >= 0 {
		return &tasks[i]
	}
	return nil
}

// made is when a task was made, to the second, which is what is stored of it.
func made(task *GracefulEvictionTask) *metav1.Time {
	if task.CreationTimestamp == nil {
		return nil
	}
	return new(task.CreationTimestamp.Rfc3339Copy())
}

// read returns what an annotation says; nothing if it cannot be read.
func read(data string) []storedEviction {
	var out []storedEviction
	if data == "" || json.Unmarshal([]byte(data), &out) != nil {
		return nil
	}
	return out[:min(len(out), maxEvictions)] // no hub writes more
}

// forget leaves out the targets before the oldest eviction of which they are known; if that is none, the sentence of the oldest that
// has one and who took the place. It says whether there was something to leave out.
func forget(evictions []Eviction) bool {
	if i := slices.IndexFunc(evictions, func(e Eviction) bool { return e.Before != nil }); i >= 0 {
		evictions[i].Before = nil
		return true
	}
	if i := slices.IndexFunc(evictions, func(e Eviction) bool { return len(e.To)+len(e.Message) > 0 }); i >= 0 {
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

func pack(evictions []Eviction) []storedEviction {
	out := make([]storedEviction, len(evictions))
	var last []TargetCluster
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

// unpack is the way back. What cannot be read is not known, and so is what is said as a difference from it.
func unpack(stored []storedEviction) []Eviction {
	out := make([]Eviction, len(stored))
	var last []TargetCluster
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

func byName(a, b TargetCluster) int { return cmp.Compare(a.Name, b.Name) }

// difference returns the lines that make some targets of others, both sorted by name.
func difference(was, is []TargetCluster) string {
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

// apply returns what some targets, sorted by name, are after a difference. They stay as they are.
func apply(was []TargetCluster, lines string) ([]TargetCluster, error) {
	if lines == "" && was != nil {
		return was, nil
	}
	out := make([]TargetCluster, 0, len(was)+strings.Count(lines, "\n"))
	for line := range strings.Lines(lines) {
		line = strings.TrimSuffix(line, "\n")
		name, gone := strings.CutPrefix(line, "-")
		target := TargetCluster{Name: name}
		if !gone {
			name, number, _ := strings.Cut(line, " ")
			replicas, err := strconv.ParseInt(number, 10, 32)
			if err != nil {
				return nil, fmt.Errorf("reading the replicas before an eviction: %w", err)
			}
			target = TargetCluster{Name: name, Replicas: int32(replicas)}
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
	// A buffer takes all that is written.
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
