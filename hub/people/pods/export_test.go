package pods

// ReadAtMost limits how many bytes of a response are read.
func (m *Members) ReadAtMost(bytes int64) { m.most = bytes }
