package pods

// ReadAtMost has no more bytes read of an answer than these.
func (m *Members) ReadAtMost(bytes int64) { m.most = bytes }
