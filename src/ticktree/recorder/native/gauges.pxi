# Gauges: values at a moment.


cdef object gauge_at(Recorder recorder, str text):
    """Where a gauge's record is, made at need; None where there is no room."""
    cdef tt_gauge* record = NULL
    made = recorder.gauges.get(text)
    if made is not None:
        return made
    if len(recorder.gauges) < recorder.core.name_cap:
        record = tt_gauge_make(recorder.core, name_id_of(recorder, text))
    if record == NULL:
        tt_lose(recorder.core, TT_LOSS_MEMORY)
        return None
    recorder.gauges[text] = <size_t>record
    return recorder.gauges[text]
