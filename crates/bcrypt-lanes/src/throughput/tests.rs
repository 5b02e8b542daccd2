use super::*;

fn settle(throughput: &mut Throughput, width: usize, iterations: u32) -> f64 {
    for _ in 0..10_000 {
        throughput.record(width, iterations, Duration::from_millis(1));
    }
    throughput.per_second()
}

#[test]
fn full_width_moves_the_estimate_up_and_down() {
    let mut throughput = Throughput::new(6);
    assert!((settle(&mut throughput, 6, 20) - 20_000.0).abs() < 5.0);
    assert!((settle(&mut throughput, 6, 5) - 5_000.0).abs() < 5.0);
}

#[test]
fn calibration_replaces_the_initial_estimate() {
    let mut throughput = Throughput::new(6);
    throughput.calibrate(20, &[Duration::from_millis(1), Duration::from_millis(3)]);
    assert!((throughput.per_second() - 10_000.0).abs() < 1.0);
    throughput.calibrate(20, &[]);
    throughput.calibrate(20, &[Duration::ZERO]);
    assert!(
        (throughput.per_second() - 10_000.0).abs() < 1.0,
        "empty measurements are ignored"
    );
}

#[test]
fn one_stalled_slice_does_not_ruin_the_estimate() {
    let mut throughput = Throughput::new(6);
    settle(&mut throughput, 6, 20);
    throughput.record(6, 20, Duration::from_mins(1));
    assert!(throughput.per_second() > 18_000.0);
}

#[test]
fn a_short_disturbance_is_ignored_and_a_lasting_one_is_followed() {
    let mut throughput = Throughput::new(6);
    settle(&mut throughput, 6, 20);
    for _ in 0..10 {
        throughput.record(6, 10, Duration::from_millis(5));
    }
    assert!(throughput.per_second() > 18_000.0);
    for _ in 0..2_000 {
        throughput.record(6, 10, Duration::from_millis(5));
    }
    assert!(throughput.per_second() < 2_100.0);
}

#[test]
fn a_single_lane_raises_a_low_estimate_and_never_lowers_it() {
    let mut throughput = Throughput::new(6);
    throughput.per_second = 0.0;
    assert!((settle(&mut throughput, 1, 18) - 3_000.0).abs() < 1.0);
    assert!((settle(&mut throughput, 1, 6) - 3_000.0).abs() < 1.0);
}

#[test]
fn an_estimate_of_zero_gives_a_non_empty_slice_and_a_finite_time() {
    let mut throughput = Throughput::new(6);
    throughput.per_second = 0.0;
    assert_eq!(throughput.slice(), 1);
    assert!(throughput.time_for(1 << 41, 1) < Duration::MAX);
}
