package backup

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ctrl "sigs.k8s.io/controller-runtime"

	"fairlead.dev/common/kube/eventsink"
)

// Reasons of events about RecordName.
const (
	// ReasonFailed says that a scheduled backup failed.
	ReasonFailed = "BackupFailed"
	// ReasonMade says that a backup was made and verified. Without --events=all it is only emitted after a failure.
	ReasonMade = "BackupMade"
)

const actionBackUp = "BackUp"

// report records and reports the result of a backup. There may be both a backup and an error, if old ones could not be
// deleted.
func (s *Schedule) report(ctx context.Context, name string, verified *Verified, began time.Time, err error) {
	log := ctrl.LoggerFrom(ctx)
	now := s.Clock.Now()
	record := s.readRecord(ctx)
	if verified != nil {
		took := now.Sub(began)
		s.metrics.size.Set(float64(verified.Size))
		s.metrics.duration.Set(took.Seconds())
		record.Last = &ScheduledBackup{File: filepath.Join(s.Directory, name), Host: s.host, At: metav1.Time{Time: began}, Sealed: s.Maker.Seal.IsSealed(), Verified: *verified}
		log.Info("Made a backup and restored it to verify it", "file", filepath.Join(s.Directory, name), "bytes", verified.Size, "objects", verified.Objects, "duration", took)
	}
	failing := !record.FailingSince.IsZero()
	if err != nil {
		s.metrics.failures.Inc()
		log.Error(err, "Making a backup failed", "directory", s.Directory)
		s.failures, s.failed = s.failures+1, now
		if !failing {
			record.FailingSince = metav1.Time{Time: now}
		}
		record.Failure = err.Error()
	} else {
		s.failures = 0
		record.FailingSince, record.Failure = metav1.Time{}, ""
	}
	if err := record.write(ctx, s.HubClient); err != nil {
		log.Error(err, "Telling how backups fare failed")
	}
	switch {
	case err != nil && !failing:
		s.emit(corev1.EventTypeWarning, ReasonFailed, false, fmt.Sprintf("Backups to %s on %s fail: %v", s.Directory, s.host, err))
	case err == nil:
		s.emit(corev1.EventTypeNormal, ReasonMade, !failing, fmt.Sprintf("Made and verified the backup %s on %s", filepath.Join(s.Directory, name), s.host))
	}
}

// readRecord returns the stored record, updated with the settings. If it cannot be read, it starts with an empty one.
func (s *Schedule) readRecord(ctx context.Context) Record {
	record, err := ReadRecord(ctx, s.HubClient)
	if err != nil {
		ctrl.LoggerFrom(ctx).V(1).Info("Writing anew how backups fare", "reason", err.Error())
	}
	if record == nil {
		record = &Record{}
	}
	record.Host, record.Directory, record.Every = s.host, s.Directory, metav1.Duration{Duration: s.Every}
	return *record
}

func (s *Schedule) emit(kind, reason string, detail bool, note string) {
	s.Events(eventsink.Event{Regarding: newRecordObject(), Type: kind, Reason: reason, Action: actionBackUp, Note: note, Detail: detail})
}
